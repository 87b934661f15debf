//! Algorithms that are made for a network.

use std::sync::Arc;

use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use wormcast::analysis::of_algorithm;
use wormcast::lab::plain_words;
use wormcast::multicast::{
    self as mc, AlgorithmOptions, FaultInformation, FaultRequest, Multicast, Plan, PlanReport, PlanSummary, PortModel,
    Request, check_contract, is_own, left_out, plan_dot, plan_svg,
};

use crate::analysis::{Analysed, idle_draws, printed, settings, warning, warnings};
use crate::failure::input;
use crate::network::Network;
use crate::signals::interruptible;

/// A value of a setting, in the words of experiment files.
pub(crate) fn setting<T: DeserializeOwned>(name: &str, json: &str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| {
        let text = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        let (problem, help) = plain_words(text.strip_suffix(&position).unwrap_or(&text));
        input(help.map_or_else(|| format!("{name}: {problem}"), |help| format!("{name}: {problem}; {help}")))
    })
}

/// An algorithm, made for a network.
#[pyclass(frozen, module = "wormcast._native")]
pub(crate) struct Algorithm {
    made: Arc<dyn mc::Algorithm>,
    network: Py<Network>,
    /// What is to be said of a seed where nothing is drawn.
    idle_seed: Option<String>,
}

#[pymethods]
impl Algorithm {
    #[new]
    #[pyo3(signature = (network, name, routing, root, seed, options, failed_links, local_information))]
    #[allow(clippy::too_many_arguments, reason = "keywords of a Python function")]
    fn new(
        py: Python<'_>,
        network: Py<Network>,
        name: &str,
        routing: Option<&str>,
        root: Option<String>,
        seed: u64,
        options: &str,
        failed_links: Vec<String>,
        local_information: bool,
    ) -> PyResult<Self> {
        let own: AlgorithmOptions = setting("options", options)?;
        let request = Request::new(name, routing).map_err(input)?;
        let information = if local_information { FaultInformation::Local } else { FaultInformation::Global };
        let faults = FaultRequest { links: failed_links, random: 0, information };
        let request = Request { root, seed, faults, options: own, ..request };
        let on = Arc::clone(&network.get().network);
        let idle = seed != 0 && !request.algorithm.draws_on(&on, request.routing);
        let idle_seed = idle.then(|| warning("seed", &format!("`{name}` makes no random choices")));
        let made = interruptible(py, || request.make(&on))?.map_err(input)?;
        Ok(Self { made: Arc::from(made), network, idle_seed })
    }

    #[getter]
    fn name(&self) -> &str {
        self.made.name()
    }

    #[getter]
    fn routing(&self) -> &str {
        self.made.routing().name()
    }

    /// Plans a multicast. Returns the plan as the JSON of `plan`, and what is to be said of it: destinations that are left out, settings without effect.
    fn plan(
        &self,
        py: Python<'_>,
        source: &str,
        destinations: &str,
        ports: &str,
        flit_bits: Option<u32>,
    ) -> PyResult<(String, Vec<String>)> {
        let network = self.network.get();
        let (multicast, summary, left_out) = self.planned(py, source, destinations, ports)?;
        if flit_bits == Some(0) {
            return Err(input("flit_bits: expected 1 or more"));
        }
        let capabilities = self.made.capabilities();
        let unencoded = flit_bits.is_some() && summary.worms.iter().all(|worm| worm.header.is_none());
        let no_header = format!("no header of `{}` encodes destinations", self.made.name());
        let idle_bits = unencoded.then(|| warning("flit_bits", &no_header));
        let idle_option = capabilities.idle_option().map(|(option, reason)| warning(&option.to_string(), reason));
        let doubt = capabilities.doubt.map(str::to_owned);
        let told = [left_out, self.idle_seed.clone(), idle_bits, idle_option, doubt];
        let exact = capabilities.minimum.map(|minimum| minimum.is_exact(&multicast));
        let report = PlanReport {
            network: &network.network,
            algorithm: self.made.name(),
            multicast: &multicast,
            summary: &summary,
            exact,
            flit_bits: flit_bits.unwrap_or(PlanReport::FLIT_BITS),
            warning: None,
            reduction: None,
        };
        Ok((report.json(), told.into_iter().flatten().collect()))
    }

    /// Draws the plan of a multicast: `svg` or `dot`.
    fn drawing(&self, py: Python<'_>, source: &str, destinations: &str, ports: &str, form: &str) -> PyResult<String> {
        let (multicast, summary, _) = self.planned(py, source, destinations, ports)?;
        let (network, name) = (&self.network.get().network, self.made.name());
        interruptible(py, || match form {
            "dot" => plan_dot(network, &summary, &multicast),
            _ => plan_svg(network, name, &summary, &multicast),
        })
    }

    /// Analyses all worms that it may send, with settings as JSON. Returns the JSON of `routing`, and what is to be said of settings without effect.
    fn analyse(&self, py: Python<'_>, given: &str) -> PyResult<Analysed> {
        let (settings, algorithm) = (settings(given)?, self.made.as_ref());
        let report = interruptible(py, || of_algorithm(algorithm, &settings))?.map_err(input)?;
        let divided = algorithm.needed_virtual_channels().0 > 1;
        let sender = format!("`{}`", algorithm.name());
        let mut idle =
            warnings(settings.idle(&self.network.get().network, &report, &sender, algorithm.branching(), divided));
        let option = algorithm.capabilities().idle_option();
        idle.extend(option.map(|(option, reason)| warning(&option.to_string(), reason)));
        idle.extend(idle_draws(&settings, algorithm.routing(), self.idle_seed.clone()));
        Ok((printed(&report), idle))
    }
}

impl Algorithm {
    fn planned(
        &self,
        py: Python<'_>,
        source: &str,
        destinations: &str,
        ports: &str,
    ) -> PyResult<(Multicast, PlanSummary, Option<String>)> {
        let network = self.network.get();
        let ports: PortModel = setting("ports", &serde_json::Value::from(ports).to_string())?;
        let (source, list) = (network.node(source)?, network.nodes(destinations)?);
        let multicast = Multicast::checked(source, &list).map_err(input)?;
        let is_all = wormcast::network::is_all_nodes(destinations);
        let warning = (!is_all).then(|| left_out(&network.network, source, &list)).flatten();
        let algorithm = self.made.as_ref();
        if let Some(refusal) = algorithm.refusal(&multicast) {
            return Err(input(refusal));
        }
        let plan: PyResult<Plan> = interruptible(py, || {
            if !is_own(algorithm) {
                return Ok(algorithm.plan(&multicast));
            }
            check_contract(algorithm, &multicast)
                .map_err(|broken| input(format!("the plan of `{}` is not as promised: {broken}", algorithm.name())))
        })?;
        let summary = plan?.summary(algorithm.routing(), ports).map_err(input)?;
        Ok((multicast, summary, warning))
    }
}

//! Tables as Arrow record batches, which other libraries take without a copy.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array,
};
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use wormcast::lab::{Cell, Table};

use crate::failure::run;

/// A table as a batch: words as strings, counts as 64-bit integers, without a sign for seeds and where one is beyond those with a sign, numbers as 64-bit floats, flags as booleans; what a row
/// does not have is null.
pub(crate) fn batch(table: &Table) -> PyResult<RecordBatch> {
    let column = |name: &str, values: &[Cell]| -> ArrayRef {
        let is_text = |cell: &Cell| matches!(cell, Cell::Text(Some(_)));
        let is_flag = |cell: &Cell| matches!(cell, Cell::Flag(Some(_)));
        let known: Vec<&Cell> = values.iter().filter(|cell| !cell.is_empty()).collect();
        if known.is_empty() {
            return match values.first() {
                Some(Cell::Number(_)) => Arc::new(Float64Array::from(vec![None; values.len()])),
                Some(Cell::Count(_)) => Arc::new(Int64Array::from(vec![None; values.len()])),
                Some(Cell::Flag(_)) => Arc::new(BooleanArray::from(vec![None; values.len()])),
                _ => Arc::new(StringArray::from(vec![None::<String>; values.len()])),
            };
        }
        if known.iter().all(|cell| is_flag(cell)) {
            return Arc::new(values.iter().map(flag).collect::<BooleanArray>());
        }
        if known.iter().any(|cell| is_text(cell) || is_flag(cell)) {
            let text = |cell: &Cell| (!cell.is_empty()).then(|| cell.text());
            return Arc::new(values.iter().map(text).collect::<StringArray>());
        }
        let is_seed = name.rsplit('.').next() == Some("seed");
        let fits = known.iter().all(|cell| count(cell).is_some());
        if (is_seed || !fits) && known.iter().all(|cell| unsigned(cell).is_some()) {
            return Arc::new(values.iter().map(unsigned).collect::<UInt64Array>());
        }
        if fits {
            return Arc::new(values.iter().map(count).collect::<Int64Array>());
        }
        Arc::new(values.iter().map(number).collect::<Float64Array>())
    };
    let arrays: Vec<ArrayRef> = table.columns.iter().map(|own| column(&own.name, &own.values)).collect();
    let fields = table.columns.iter().zip(&arrays);
    let fields = fields.map(|(own, array)| Field::new(&own.name, array.data_type().clone(), true));
    RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), arrays).map_err(run)
}

fn flag(cell: &Cell) -> Option<bool> {
    if let Cell::Flag(flag) = cell { *flag } else { None }
}

fn count(cell: &Cell) -> Option<i64> {
    match cell {
        Cell::Count(count) => count.and_then(|count| i64::try_from(count).ok()),
        Cell::Json(number) => number.as_i64(),
        _ => None,
    }
}

fn unsigned(cell: &Cell) -> Option<u64> {
    match cell {
        Cell::Count(count) => *count,
        Cell::Json(number) => number.as_u64(),
        _ => None,
    }
}

fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Number(number) => *number,
        Cell::Count(count) => count.map(|count| count as f64),
        Cell::Json(number) => number.as_f64(),
        _ => None,
    }
}

/// Columns of integers as a batch.
pub(crate) fn integers(columns: Vec<(&'static str, Vec<i64>)>) -> PyResult<RecordBatch> {
    let fields = columns.iter().map(|(name, _)| Field::new(*name, arrow_schema::DataType::Int64, false));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let arrays = columns.into_iter().map(|(_, values)| Arc::new(Int64Array::from(values)) as ArrayRef);
    RecordBatch::try_new(schema, arrays.collect()).map_err(run)
}

/// A batch as a capsule with a stream. The batch's memory is shared, not copied.
pub(crate) fn stream<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyCapsule>> {
    let batches = RecordBatchIterator::new([Ok::<_, ArrowError>(batch.clone())], batch.schema());
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
}

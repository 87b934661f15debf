// The replay of a run that was recorded.

import type { Query } from "../address.ts";
import { get } from "../api.ts";
import type { ReplayHeader } from "../api.ts";
import { fill, h } from "../dom.ts";
import { format } from "../address.ts";
import { Player } from "../replay/player.ts";
import { checked, Replay } from "../replay/source.ts";
import { awaiting, giveUp, link } from "../view.ts";
import type { Page, View } from "../view.ts";

export function replay(page: Page, query: Query): View {
  const element = h("div", { class: "fill" });
  let player: Player | null = null;
  let file: string | null = null;

  const load = (query: Query): void => {
    if (!query.file) {
      player?.end();
      player = null;
      file = null;
      const replays = page.info.items.filter((item) => item.kind === "replay");
      const open = page.info.open?.kind === "replay" ? page.info.open : replays.length === 1 ? replays[0] : null;
      if (open) {
        page.set({ file: open.path }, true);
        load({ ...query, file: open.path });
        return;
      }
      fill(
        element,
        h("div", { class: "text" },
          h("h1", null, "Which run?"),
          replays.length === 0
            ? h("p", null, "There is no replay in this folder yet. Record one with ", h("code", null, "wormcast simulate EXPERIMENT --replay run.replay"), ", or choose a point of a curve and “Replay this point”.")
            : h("ul", null, ...replays.map((item) => h("li", null, link(page, "replay", { file: item.path }, format("replay", { file: item.path }), item.path))))),
      );
      return;
    }
    if (file === query.file && player) {
      player.update(query);
      return;
    }
    const wanted = query.file;
    player?.end();
    player = null;
    file = null;
    void awaiting(
      element,
      "Opening the replay",
      (signal) => get<ReplayHeader>("/api/replay", { file: wanted }, signal),
      (header) => {
        player?.end();
        file = wanted;
        player = new Player(Replay.ofServer(wanted, header), query, { set: (changes, replace) => page.set(changes, replace), announce: (text) => page.announce(text) });
        page.title(`${header.algorithm} on ${header.topology}`);
        fill(element, player.element);
        const opened = player;
        void checked(wanted).then((damaged) => damaged !== null && opened === player && opened.warn(damaged));
      },
    );
  };

  load(query);
  return {
    element,
    update: load,
    end() {
      giveUp(element);
      player?.end();
    },
    key: (event) => player?.key(event) ?? false,
  };
}

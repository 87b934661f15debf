// The server's events. A browser has six connections to a host, and a stream takes one for good: all tabs share one, and none in the background has it.

type Heard = (data: unknown) => void;

interface Told {
  event: string;
  data: { id?: string; file?: string };
}

const NAME = "wormcast-events";
const EVENTS = ["sweep", "replay"];

export class Events {
  readonly #heard = new Map<Heard, string>();
  readonly #channel = new BroadcastChannel(NAME);
  /** What was told last of each sweep and each recording, while this tab has the stream. */
  readonly #last = new Map<string, Told>();
  #stream: EventSource | null = null;
  /** Ends the wait for the stream, or gives it to another tab. */
  #leave: (() => void) | null = null;

  constructor() {
    this.#channel.addEventListener("message", ({ data }: MessageEvent<Told | "what is there?">) => {
      if (data !== "what is there?") this.#tell(data);
      else if (this.#stream) for (const told of this.#last.values()) this.#channel.postMessage(told);
    });
    document.addEventListener("visibilitychange", () => this.#settle());
  }

  listen(event: string, heard: Heard): () => void {
    this.#heard.set(heard, event);
    this.#settle();
    // Another tab may have the stream, and this may have the news.
    this.#channel.postMessage("what is there?");
    for (const told of this.#last.values()) if (told.event === event) heard(told.data);
    return () => {
      this.#heard.delete(heard);
      this.#settle();
    };
  }

  #tell({ event, data }: Told): void {
    for (const [heard, wanted] of this.#heard) if (wanted === event) heard(data);
  }

  #settle(): void {
    const wanted = this.#heard.size > 0 && !document.hidden;
    if (wanted === (this.#leave !== null)) return;
    if (!wanted) {
      this.#leave?.();
      this.#leave = null;
      return;
    }
    const controller = new AbortController();
    const left = new Promise<void>((done) => { controller.signal.addEventListener("abort", () => done()); });
    this.#leave = () => controller.abort();
    // There are locks where the page is the machine's own; elsewhere each tab in front has a stream.
    if (navigator.locks) void navigator.locks.request(NAME, { signal: controller.signal }, () => this.#stand(left)).catch(() => undefined);
    else void this.#stand(left);
  }

  async #stand(left: Promise<void>): Promise<void> {
    const stream = new EventSource("/api/events");
    this.#stream = stream;
    for (const event of EVENTS) {
      stream.addEventListener(event, ({ data }: MessageEvent<string>) => {
        const told = { event, data: JSON.parse(data) as Told["data"] };
        this.#last.set(`${event} ${told.data.id ?? told.data.file ?? ""}`, told);
        this.#channel.postMessage(told);
        this.#tell(told);
      });
    }
    await left;
    stream.close();
    this.#stream = null;
    this.#last.clear();
  }
}

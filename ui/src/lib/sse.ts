/** Server-sent events out of a fetched body: unlike EventSource it can carry a key, and it shows signs of life. */

export interface Frame {
  event: string;
  data: string;
  id: string | null;
}

/** Cuts a text that comes in pieces into frames. Comments come out as frames named `""`. */
export class FrameCutter {
  private rest = "";

  cut(piece: string): Frame[] {
    this.rest += piece.replaceAll("\r\n", "\n");
    const frames: Frame[] = [];
    let end = this.rest.indexOf("\n\n");
    while (end >= 0) {
      frames.push(readFrame(this.rest.slice(0, end)));
      this.rest = this.rest.slice(end + 2);
      end = this.rest.indexOf("\n\n");
    }
    return frames;
  }
}

function readFrame(text: string): Frame {
  const frame: Frame = { event: "", data: "", id: null };
  const data: string[] = [];
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    else if (name === "event") frame.event = value;
    else if (name === "id") frame.id = value;
  }
  frame.data = data.join("\n");
  if (frame.event === "" && data.length > 0) frame.event = "message";
  return frame;
}

/** Frame by frame until the server ends the stream or the caller aborts the fetch. */
export async function* framesOf(response: Response): AsyncGenerator<Frame> {
  const cutter = new FrameCutter();
  const decoder = new TextDecoder();
  const reader = response.body!.getReader();
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* cutter.cut(decoder.decode(value, { stream: true }));
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/**
 * Where a long file is gathered before it is saved: in a file that the browser keeps for this site on the disk, so that the
 * memory does not grow with it, or in memory where there is none (browsers have it only for pages that came over TLS or
 * from this machine).
 */

const FOLDER = "exports";
/** A file that was saved is kept for so long: the browser reads it while it saves. */
const KEPT = 3_600_000;

/** Not a Blob: the browser keeps those in memory until it next collects garbage. */
export type Part = Uint8Array<ArrayBuffer>;

export interface Spool {
  write(part: Part): Promise<void>;
  /** All that was written. */
  finish(): Promise<Blob>;
  /** Forget what was written. */
  discard(): Promise<void>;
}

export async function openSpool(): Promise<Spool> {
  try {
    return await onDisk();
  } catch {
    return inMemory();
  }
}

async function onDisk(): Promise<Spool> {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle(FOLDER, { create: true });
  await forgetOld(folder);
  const handle = await folder.getFileHandle(crypto.randomUUID(), { create: true });
  const stream = await handle.createWritable();
  return {
    write: (part) => stream.write(part),
    async finish() {
      await stream.close();
      return handle.getFile();
    },
    async discard() {
      // If either fails there is nothing left to forget now; what remains is forgotten later.
      await stream.abort().catch(() => {});
      await folder.removeEntry(handle.name).catch(() => {});
    },
  };
}

/** Files that were saved long ago. One that somebody still writes cannot be removed. */
async function forgetOld(folder: FileSystemDirectoryHandle): Promise<void> {
  for await (const [name, handle] of folder.entries()) {
    const file = handle.kind === "file" ? await (handle as FileSystemFileHandle).getFile() : null;
    if (file && file.lastModified < Date.now() - KEPT) await folder.removeEntry(name).catch(() => {});
  }
}

function inMemory(): Spool {
  let parts: Blob[] = [];
  return {
    async write(part) {
      parts.push(new Blob([part]));
    },
    async finish() {
      return new Blob(parts);
    },
    async discard() {
      parts = [];
    },
  };
}

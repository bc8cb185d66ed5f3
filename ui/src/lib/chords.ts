/** Keys that are pressed one after the other. */

const BETWEEN = 1200;

/** Reads keys one after the other and says which shortcut they make. */
export class Chords {
  private first: string | null = null;
  private since = 0;

  constructor(private readonly known: ReadonlySet<string>) {}

  press(key: string, now: number): string | null {
    const before = this.first !== null && now - this.since < BETWEEN ? this.first : null;
    this.first = null;
    if (before !== null && this.known.has(`${before} ${key}`)) return `${before} ${key}`;
    if (this.known.has(key)) return key;
    if ([...this.known].some((keys) => keys.startsWith(`${key} `))) {
      this.first = key;
      this.since = now;
    }
    return null;
  }
}

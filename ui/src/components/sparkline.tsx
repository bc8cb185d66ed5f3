/** A row of small bars: what was done, and in it what failed. Drawn as SVG, so that hundreds cost nothing. */

const WIDTH = 96;
const HEIGHT = 22;

export function Sparkline({ done, failed, label }: { done: number[]; failed: number[]; label: string }) {
  const most = Math.max(1, ...done.map((value, at) => value + (failed[at] ?? 0)));
  const step = WIDTH / Math.max(1, done.length);
  const bar = Math.max(1, step - 1);
  const scale = (value: number) => (value === 0 ? 0 : Math.max(1.5, (value / most) * (HEIGHT - 2)));
  return (
    <svg
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={label}
      className="inline-block align-middle"
    >
      <rect y={HEIGHT - 1} width={WIDTH} height="1" fill="var(--line)" />
      {done.map((value, at) => {
        const good = scale(value);
        const bad = scale(failed[at] ?? 0);
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place
          <g key={at}>
            {value > 0 && (
              <rect
                x={at * step}
                y={HEIGHT - good}
                width={bar}
                height={good}
                rx="0.5"
                fill="var(--accent)"
                opacity="0.75"
              />
            )}
            {bad > 0 && (
              <rect
                x={at * step}
                y={Math.max(0, HEIGHT - good - bad)}
                width={bar}
                height={bad}
                rx="0.5"
                fill="var(--danger)"
              />
            )}
          </g>
        );
      })}
    </svg>
  );
}

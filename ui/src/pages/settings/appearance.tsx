import { Segmented } from "@/components/field";
import { Card } from "@/components/layout";
import { useStore } from "@/lib/store";
import { type Choice, chooseTheme, theme } from "@/lib/theme";
import { ownZone } from "@/lib/zones";
import { Fact, Facts } from "./facts";

/** Light or dark. */
export function Appearance() {
  const { choice } = useStore(theme);
  return (
    <Card flush title="Appearance" about="kept in this browser">
      <Facts>
        <Fact label="Theme">
          <Segmented<Choice>
            label="Theme"
            value={choice}
            onChange={chooseTheme}
            options={[
              ["light", "Light"],
              ["dark", "Dark"],
              ["system", "As the system"],
            ]}
          />
        </Fact>
        <Fact label="Times" note="Hover over any time to see it in full and in UTC">
          {ownZone()}
        </Fact>
      </Facts>
    </Card>
  );
}

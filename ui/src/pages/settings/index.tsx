import { Page } from "@/components/layout";
import { About } from "./about";
import { Appearance } from "./appearance";
import { KeyCard } from "./key";
import { Limits } from "./limits";
import { Links } from "./links";
import { Shortcuts } from "./shortcuts";
import { Storage } from "./storage";

/** How the app looks and who uses it, and what server this is. */
export default function SettingsPage() {
  return (
    <Page title="Settings" about="This window, and the server behind it.">
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <div className="flex min-w-0 flex-col gap-4">
          <Appearance />
          <KeyCard />
          <Links />
          <Shortcuts />
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <About />
          <Storage />
          <Limits />
        </div>
      </div>
    </Page>
  );
}

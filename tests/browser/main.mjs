// All browser tests, one file a topic.
import { main } from "./harness.mjs";
import "./pages.mjs";

await main(process.argv.slice(2));

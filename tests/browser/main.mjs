// Runs all browser tests, one file per topic.
import { main } from "./harness.mjs";
import "./pages.mjs";
import "./acts.mjs";
import "./layouts.mjs";
import "./block_map.mjs";
import "./places.mjs";
import "./area.mjs";
import "./tracks.mjs";
import "./marks.mjs";
import "./collectives.mjs";
import "./queue.mjs";
import "./range_page.mjs";
import "./strip.mjs";
import "./touch.mjs";
import "./picture.mjs";
import "./hostile.mjs";
import "./languages.mjs";
import "./served.mjs";

await main(process.argv.slice(2));

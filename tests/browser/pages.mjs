// Every kind of page opens, shows what it is about, and reports no error.
import { check, open, page_of, test } from "./harness.mjs";

'use strict';
/* Checks SARIF files, a name a line on standard input, against the schema of SARIF 2.1.0 and further rules of the
 * standard: rules by index, regions that are in the file they name. Prints a line each: `ok`, or the error. Its
 * argument is the folder with the packages. */
const fs = require('fs');
const path = require('path');
const {createRequire} = require('module');

const from = createRequire(path.join(path.resolve(process.argv[2]), 'index.js'));
const Ajv = from('ajv');
const schemas = path.join(process.argv[2], 'node_modules/@microsoft/jest-sarif/lib/schemas');
const schema = JSON.parse(fs.readFileSync(path.join(schemas, 'sarif-2.1.0-rtm.5.json'), 'utf8'));
const ajv = new Ajv({schemaId: 'auto', format: 'full', allErrors: true, logger: false, meta: false});
ajv.addMetaSchema(from('ajv/lib/refs/json-schema-draft-04.json'));
const validate = ajv.compile(schema);

/* Characters of a line as the run counts columns. */
function characters(line, kind) {
    return kind === 'unicodeCodePoints' ? Array.from(line).length : line.length;
}

function badRegion(run, location) {
    const physical = location.physicalLocation;
    if (!physical)
        return location.logicalLocations ? '' : 'a place is neither in a file nor has a name';
    const region = physical.region;
    const file = decodeURIComponent(physical.artifactLocation.uri.replace(/^file:\/\//, ''));
    if (!fs.existsSync(file))
        return `${file} is not there`;
    if (!region)
        return location.logicalLocations ? '' : `${file} has no region`;
    const line = fs.readFileSync(file, 'utf8').split('\n')[region.startLine - 1];
    if (line === undefined)
        return `line ${region.startLine} is not in ${file}`;
    const n = characters(line, run.columnKind);
    if (region.startColumn > n + 1 || region.endColumn > n + 1)
        return `columns ${region.startColumn}..${region.endColumn} are not in line ${region.startLine} of ${file}`;
    if (region.endColumn !== undefined && region.endColumn <= region.startColumn)
        return `an empty region in line ${region.startLine} of ${file}`;
    return '';
}

function badRun(run) {
    const rules = run.tool.driver.rules || [];
    for (const result of run.results || []) {
        if (result.ruleIndex !== undefined && (rules[result.ruleIndex] || {}).id !== result.ruleId)
            return `ruleIndex ${result.ruleIndex} is not that of ${result.ruleId}`;
        for (const location of [...(result.locations || []), ...(result.relatedLocations || [])]) {
            const bad = badRegion(run, location);
            if (bad)
                return bad;
        }
    }
    return new Set(rules.map(rule => rule.id)).size === rules.length ? '' : 'a rule is there twice';
}

function check(name) {
    let log;
    try {
        log = JSON.parse(fs.readFileSync(name, 'utf8'));
    } catch (error) {
        return `is no JSON: ${error.message}`;
    }
    if (!validate(log))
        return validate.errors.slice(0, 3).map(e => `${e.dataPath} ${e.message}`).join('; ');
    return log.runs.map(badRun).find(bad => bad) || 'ok';
}

for (const name of fs.readFileSync(0, 'utf8').split('\n').filter(line => line))
    console.log(check(name));

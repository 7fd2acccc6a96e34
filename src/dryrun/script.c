/* Writes the shell script that makes the dry runs: fixed text in POSIX sh around a few values and the launch command.
 * All input of the user is quoted here, so that no shell interprets it, apart from a command given as one line, which
 * is read by a shell of its own. The script does not depend on the contents of the logs: another command reads them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/dryrun.h"

static const char *const ek__log_layout_name[EK_N_LOG_LAYOUTS] = {"stage-rank", "rank", "log"};
const char *const *const ek_log_layout_name = ek__log_layout_name;

enum { PLACE_STAGE, PLACE_RANK, PLACE_CONFIG, N_PLACES, LINE_WIDTH = 100 };

/* Texts replaced in the launch command, and their replacements: parameters and a variable of launch() in the script. */
static const struct {
    const char *text, *value;
} places[N_PLACES] = {{"{stage}", "\"$2\""}, {"{rank}", "\"$3\""}, {"{config}", "\"$config\""}};

/* ---- options ---- */

/* The placeholder that begins at `at`, or N_PLACES. */
static int place_at(const char *word, const char *at)
{
    int i = 0;
    if (at > word && at[-1] == '$')
        return N_PLACES;
    while (i < N_PLACES && strncmp(at, places[i].text, strlen(places[i].text)) != 0)
        i++;
    return i;
}

static bool has_place(const ek_dryrun_script *script, int place)
{
    for (int w = 0; w < script->n_words; w++)
        for (const char *at = script->words[w]; *at; at++)
            if (place_at(script->words[w], at) == place)
                return true;
    return false;
}

/* Letters, digits, and characters without a meaning in a shell. */
static bool is_plain(const char *text, size_t n)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+=@%";
    return n > 0 && strspn(text, plain) >= n;
}

/* Bytes of the name that `text` begins with: the "NAME" of "NAME=VALUE"; 0 when it is not an assignment. */
static size_t name_length(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t n = strspn(text, letters);
    return n > 0 && text[n] == '=' && !(text[0] >= '0' && text[0] <= '9') ? n : 0;
}

static ek_status check_command(const ek_dryrun_script *script, ek_error *err)
{
    if (script->n_words < 1 || script->words[0][strspn(script->words[0], " \t\n")] == '\0')
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "no launch command: give the command that starts one rank of the training, for example 'python "
                        "run_mindformer.py --config train.yaml'");
    if (script->n_words == 1)
        return EK_OK;
    if (name_length(script->words[0]) > 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "the command begins with the assignment '%s', which only a shell understands; give it with "
                        "--env, or the whole command as one quoted line",
                        script->words[0]);
    if (script->words[0][0] == '-')
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "the command begins with the option '%s'; a program's name comes first", script->words[0]);
    return EK_OK;
}

static ek_status check_settings(const ek_dryrun_script *script, ek_error *err)
{
    const struct {
        const char *name, *instead;
        bool set;
    } own[] = {{"RANK_ID", "every stage has its own", true},
               {"STAGE_ID", "every stage has its own", true},
               {"DEVICE_ID", "--device-id gives every stage its own", script->device_id},
               {"RANK_SIZE", "use --ranks", true},
               {"MS_SIMULATION_LEVEL", "use --level", true}};
    for (int i = 0; i < script->n_settings; i++) {
        const char *setting = script->settings[i];
        size_t n = name_length(setting);
        if (n == 0)
            return ek__fail(
                err, EK_ERR_INPUT, EK__NOWHERE,
                "'%s' is no setting of the environment: write NAME=VALUE, with letters, digits and _ in the "
                "name and no digit first",
                setting);
        for (size_t k = 0; k < sizeof own / sizeof *own; k++)
            if (own[k].set && strlen(own[k].name) == n && strncmp(setting, own[k].name, n) == 0)
                return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s is set by the script itself: %s", own[k].name,
                                own[k].instead);
    }
    return EK_OK;
}

static ek_status check_configs(const ek_dryrun_script *script, ek_error *err)
{
    bool used = has_place(script, PLACE_CONFIG);
    if (used && script->n_configs == 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "the command has {config}, but no file is given for it; give one for each round with --yaml");
    if (!used && script->n_configs > 1)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "%d rounds would run the same command: write {config} where it names its configuration file",
                        script->n_configs);
    for (int i = 0; used && script->n_words == 1 && i < script->n_configs; i++)
        if (!is_plain(script->configs[i], strlen(script->configs[i])))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "'%s' contains characters with a meaning in a shell, and the command is a shell line; give "
                            "the command as separate words after --",
                            script->configs[i]);
    return EK_OK;
}

static ek_status check_shape(const ek_dryrun_script *script, ek_error *err)
{
    int p = script->n_stages, ranks = script->n_ranks;
    if (p < 1 || p > EK_MAX_STAGES)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "stages must be 1 to %d (got %d)", EK_MAX_STAGES, p);
    if (ranks < 1 || ranks > EK_MAX_RANKS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "ranks must be 1 to %d (got %d)", EK_MAX_RANKS, ranks);
    if (ranks < p)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "%d stages need as many ranks or more, but there are %d; correct one", p, ranks);
    if (ranks % p != 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "%d ranks cannot be shared evenly by %d stages: %d would be over; correct one", ranks, p,
                        ranks % p);
    for (int s = 0; s < p; s++)
        if (!script->chosen || script->chosen[s])
            return EK_OK;
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "no stage is chosen; choose one or more of 0..%d", p - 1);
}

static ek_status check(const ek_dryrun_script *script, ek_error *err)
{
    if (script->level < 0 || script->level > 3)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the simulation level must be 0 to 3 (got %d)", script->level);
    if (script->n_jobs < 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "dry runs at the same time must be 1 or more (got %d)",
                        script->n_jobs);
    if (!script->logs || !*script->logs)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the folder of the logs has no name; give one");
    ek_status status = check_shape(script, err);
    if (status == EK_OK)
        status = check_command(script, err);
    if (status == EK_OK)
        status = check_settings(script, err);
    return status ? status : check_configs(script, err);
}

/* ---- quoting ---- */

/* A word of the shell's syntax, even unquoted among arguments, is confusing there. */
static bool is_reserved(const char *text, size_t n)
{
    static const char *const reserved[] = {"if",   "then", "else", "elif",     "fi",   "for",  "while",  "until", "do",
                                           "done", "case", "in",   "function", "esac", "time", "select", "coproc"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strlen(reserved[i]) == n && strncmp(text, reserved[i], n) == 0)
            return true;
    return false;
}

/* Between single quotes only the quote itself is special. */
static void quote_part(const char *text, size_t n, FILE *out)
{
    fputc('\'', out);
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\'')
            fputs("'\"'\"'", out);
        else
            fputc(text[i], out);
    fputc('\'', out);
}

static void write_part(const char *text, size_t n, FILE *out)
{
    if (is_plain(text, n) && !is_reserved(text, n))
        fwrite(text, 1, n, out);
    else
        quote_part(text, n, out);
}

static void write_word(const char *word, FILE *out)
{
    write_part(word, strlen(word), out);
}

/* A word of the launch command, placeholders replaced. */
static void write_launch_word(const char *word, FILE *out)
{
    const char *from = word;
    for (const char *at = word; *at;) {
        int place = place_at(word, at);
        if (place == N_PLACES) {
            at++;
            continue;
        }
        if (at > from)
            write_part(from, (size_t)(at - from), out);
        fputs(places[place].value, out);
        at += strlen(places[place].text);
        from = at;
    }
    if (*from || from == word)
        write_part(from, strlen(from), out);
}

/* A folder that does not look like an option, without slashes at its end. */
static void write_folder(const char *folder, FILE *out)
{
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/')
        n--;
    if (folder[0] == '-')
        fputs("./", out);
    write_part(folder, n, out);
}

/* ---- the script ---- */

static int n_rounds(const ek_dryrun_script *script)
{
    return script->n_configs > 1 ? script->n_configs : 1;
}

static int n_chosen(const ek_dryrun_script *script)
{
    int n = 0;
    for (int s = 0; s < script->n_stages; s++)
        n += !script->chosen || script->chosen[s];
    return n;
}

static void write_head(const ek_dryrun_script *script, FILE *out)
{
    fprintf(out,
            "#!/bin/sh\n# Dry run of a pipeline of %d stages, written by `evenkeel dryrun-script`: for each stage the "
            "launch command runs as\n# one simulated rank of %d.\n",
            script->n_stages, script->n_ranks);
    fputs("#\n"
          "#   sh SCRIPT [--force]\n"
          "#\n"
          "# --force replaces logs of an earlier run. Exit codes: 0 all went well, 1 a command failed, 2 nothing was "
          "run.\n"
          "#\n"
          "# Text between single quotes is literal:\n"
          "# shellcheck disable=SC1003,SC2016,SC2088,SC2089,SC2090\n"
          "set -eu +m\n"
          "\n",
          out);
}

/* The dry runs as ROUND:STAGE, broken into lines. */
static void write_runs(const ek_dryrun_script *script, FILE *out)
{
    int column = fprintf(out, "runs='"), n = 0;
    for (int round = 1; round <= n_rounds(script); round++)
        for (int s = 0; s < script->n_stages; s++) {
            if (script->chosen && !script->chosen[s])
                continue;
            bool new_line = column > LINE_WIDTH;
            if (n++ > 0)
                fputs(new_line ? "\n    " : " ", out);
            column = new_line ? 0 : column;
            column += fprintf(out, "%d:%d", round, s) + 1;
        }
    fprintf(out, "'\ntotal=%d\n", n);
    fprintf(out, "jobs=%d # at the same time\n", script->n_jobs ? script->n_jobs : n_chosen(script));
}

static void write_read_run(const ek_dryrun_script *script, FILE *out)
{
    static const char *const below[EK_N_LOG_LAYOUTS] = {"/stage_${stage}_rank_$rank/mindformer.log", "/rank_$rank.log",
                                                        "/log/stage${stage}_$rank/mindformer.log"};
    fprintf(out, "\nread_run() { # ROUND:STAGE\n    round=${1%%%%:*}\n    stage=${1#*:}\n    rank=$((stage * %d))\n",
            script->n_ranks / script->n_stages);
    fprintf(out, "    name=\"%sstage $stage (rank $rank)\"\n    log=", n_rounds(script) > 1 ? "round $round, " : "");
    write_folder(script->logs, out);
    fprintf(out, "%s%s\n}\n", n_rounds(script) > 1 ? "/round$round" : "", below[script->layout]);
}

static void write_config(const ek_dryrun_script *script, FILE *out)
{
    if (!has_place(script, PLACE_CONFIG))
        return;
    if (script->n_configs == 1) {
        fputs("    config=", out);
        write_word(script->configs[0], out);
        fputc('\n', out);
        return;
    }
    fputs("    case $1 in\n", out);
    for (int i = 0; i < script->n_configs; i++) {
        fprintf(out, "    %d) config=", i + 1);
        write_word(script->configs[i], out);
        fputs(" ;;\n", out);
    }
    fputs("    esac\n", out);
}

static void write_environment(const ek_dryrun_script *script, FILE *out)
{
    fprintf(out, "    export MS_SIMULATION_LEVEL=%d MS_MEMORY_STATISTIC=1%s\n", script->level,
            /* Level 3 measures the time of kernels, so they have to run. */
            script->level < 3 ? " MS_KERNEL_LAUNCH_SKIP=all" : "");
    fprintf(out, "    export RANK_SIZE=%d STAGE_ID=\"$2\" RANK_ID=\"$3\"%s\n", script->n_ranks,
            script->device_id ? " DEVICE_ID=\"$2\"" : "");
    if (script->layout == EK_LOGS_LOG)
        fputs("    export GLOG_v=2 MS_DEV_SIDE_EFFECT_LOAD_ELIM=3\n", out);
    fputs("    unset RANK_TABLE_FILE # it would contradict RANK_SIZE\n", out);
    for (int i = 0; i < script->n_settings; i++) {
        size_t n = name_length(script->settings[i]) + 1;
        fprintf(out, "    export %.*s", (int)n, script->settings[i]);
        write_word(script->settings[i] + n, out);
        fputc('\n', out);
    }
}

static void write_launch(const ek_dryrun_script *script, FILE *out)
{
    fputs("\n# Its shell becomes the launch command.\n"
          "launch() { # ROUND STAGE RANK\n",
          out);
    write_environment(script, out);
    write_config(script, out);
    fputs("    set --", out);
    if (script->n_words == 1)
        fputs(" /bin/sh -c", out);
    for (int w = 0; w < script->n_words; w++) {
        fputc(' ', out);
        write_launch_word(script->words[w], out);
    }
    fputs("\n    exec ${session:+\"$session\"} \"$@\"\n}\n", out);
}

/* The fixed parts before and after launch(). */
static const char helpers[] =
    "\n"
    "say() { printf '%s\\n"
    "' \"$*\" >&2; }\n"
    "\n"
    "progress() { # only on a terminal\n"
    "    if [ -t 2 ]; then say \"$@\"; fi\n"
    "}\n"
    "\n"
    "# In a separate session a command can be stopped together with its children.\n"
    "session=$(command -v setsid) || session=\n"
    "running= # as ROUND:STAGE:PID\n"
    "failed=0\n"
    "\n"
    "signal_all() { # SIGNAL\n"
    "    for job in $running; do\n"
    "        kill -s \"$1\" -- \"-${job##*:}\" 2>/dev/null || kill -s \"$1\" \"${job##*:}\" 2>/dev/null || :\n"
    "    done\n"
    "}\n"
    "\n"
    "stop() { # EXIT-CODE\n"
    "    trap 'signal_all KILL' INT TERM HUP # a second signal kills processes that ignore the first\n"
    "    signal_all TERM\n"
    "    wait || :\n"
    "    running=\n"
    "    say 'stopped; the logs are not complete'\n"
    "    exit \"$1\"\n"
    "}\n"
    "trap 'stop 130' INT\n"
    "trap 'stop 143' TERM\n"
    "trap 'stop 129' HUP\n"
    "trap 'signal_all TERM' EXIT\n"
    "\n"
    "finish() { # wait for all that run\n"
    "    for job in $running; do\n"
    "        code=0\n"
    "        wait \"${job##*:}\" || code=$?\n"
    "        running=${running#\" $job\"}\n"
    "        read_run \"${job%:*}\"\n"
    "        if [ \"$code\" = 0 ]; then\n"
    "            progress \"$name: done\"\n"
    "            continue\n"
    "        fi\n"
    "        failed=$((failed + 1))\n"
    "        say \"$name failed with exit code $code; the end of $log:\"\n"
    "        tail -n 10 \"$log\" 2>/dev/null | sed 's/^/    /' >&2\n"
    "    done\n"
    "}\n";

static const char check_logs[] = "\n"
                                 "force=no\n"
                                 "for argument; do\n"
                                 "    case $argument in\n"
                                 "    --force) force=yes ;;\n"
                                 "    *)\n"
                                 "        say \"usage: sh $0 [--force]\"\n"
                                 "        exit 2\n"
                                 "        ;;\n"
                                 "    esac\n"
                                 "done\n"
                                 "\n"
                                 "for run in $runs; do\n"
                                 "    read_run \"$run\"\n"
                                 "    if [ -e \"$log\" ] && [ \"$force\" = no ]; then\n"
                                 "        say \"$log exists; move it away, or replace it with --force\"\n"
                                 "        exit 2\n"
                                 "    fi\n"
                                 "done\n"
                                 "for run in $runs; do\n"
                                 "    read_run \"$run\"\n"
                                 "    mkdir -p \"${log%/*}\" || exit 2\n"
                                 "    rm -f \"$log\" || exit 2\n"
                                 "done\n";

static const char main_loop[] = "\n"
                                "count=0\n"
                                "for run in $runs; do\n"
                                "    read_run \"$run\"\n"
                                "    progress \"$name: started, $log\"\n"
                                "    (launch \"$round\" \"$stage\" \"$rank\") >\"$log\" 2>&1 </dev/null &\n"
                                "    running=\"$running $run:$!\"\n"
                                "    count=$((count + 1))\n"
                                "    if [ $((count % jobs)) = 0 ]; then finish; fi\n"
                                "done\n"
                                "finish\n"
                                "if [ \"$failed\" != 0 ]; then\n"
                                "    say \"$failed of $total dry runs failed\"\n"
                                "    exit 1\n"
                                "fi\n";

/* The command that reads the logs, to copy: the quotes of its words are for the user's shell, the outer ones for this
 * script's. */
static ek_status write_next(const ek_dryrun_script *script, FILE *out, ek_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *next = open_memstream(&text, &size);
    if (!next)
        return ek__no_memory(err);
    fputs("evenkeel collect", next);
    for (int round = 1; round <= n_rounds(script); round++) {
        fputc(' ', next);
        write_folder(script->logs, next);
        if (n_rounds(script) > 1)
            fprintf(next, "/round%d", round);
    }
    bool fine = fclose(next) == 0 && text; /* libc reports no failure when memory was out for the last byte */
    if (fine) {
        fputs("\n"
              "# The next command.\n"
              "printf '%s\\n"
              "' ",
              out);
        write_word(text, out);
        fputc('\n', out);
    }
    free(text);
    return fine ? EK_OK : ek__no_memory(err);
}

ek_status ek_dryrun_script_write(const ek_dryrun_script *script, FILE *out, ek_error *err)
{
    ek_status status = check(script, err);
    if (status)
        return status;
    write_head(script, out);
    write_runs(script, out);
    write_read_run(script, out);
    fputs(helpers, out);
    write_launch(script, out);
    fputs(check_logs, out);
    fputs(main_loop, out);
    status = write_next(script, out, err);
    if (status == EK_OK && (fflush(out) || ferror(out)))
        status = ek__fail(err, ek__system_status(), EK__NOWHERE, "the script cannot be written: %s", strerror(errno));
    return status;
}

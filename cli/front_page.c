/* The pages of `evenkeel` without arguments and of `evenkeel --help`: the purpose of the program, the first command to
 * type, and the commands by task. */
#include "front_page.h"

#include <string.h>

static const char *const group_title[CLI_N_GROUPS] = {
    [CLI_GROUP_FIRST] = "to begin with",
    [CLI_GROUP_JOB] = "a training file, before the run",
    [CLI_GROUP_RUN] = "traces, logs and graphs of a run",
    [CLI_GROUP_PIPELINE] = "the layers of a pipeline",
    [CLI_GROUP_DRYRUN] = "dry runs with MindSpore",
    [CLI_GROUP_DEVICE] = "devices and clusters",
};

static void print_purpose(FILE *out)
{
    fputs("Evenkeel plans, predicts and diagnoses large-model training. From a training config it predicts step time "
          "and\n"
          "peak memory per pipeline stage and finds the layout, layer split and recomputation with the shortest step;\n"
          "from a profile it reports what slows a run down.\n",
          out);
}

static void print_start(FILE *out)
{
    static const char *const row[][2] = {
        {"a training file or launch script", "evenkeel train.yaml"},
        {"a config.json of Hugging Face", "evenkeel config.json --devices 64 --device H100"},
        {"a folder of profiler traces", "evenkeel profile/"},
        {"a run: settings, traces, logs", "evenkeel train.yaml profile/ worker_0.log"},
        {"a call of SAPP's pipeline balance", "evenkeel balance init.yaml -s 16 -i 3 -mb 16 -mem 56000"},
        {"a job that is too slow or too large", "evenkeel plan train.yaml --devices 64 --device H100"},
    };
    fprintf(out, "\n%-37s type\n", "you have");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        fprintf(out, "  %-35s %s\n", row[i][0], row[i][1]);
}

void cli_front_page(const ek_cmd *const *command, int n, FILE *out)
{
    static const char *const main_commands[] = {"memory", "estimate", "plan", "diagnose"};
    print_purpose(out);
    print_start(out);
    fputs("\nmain commands\n", out);
    for (size_t k = 0; k < sizeof main_commands / sizeof *main_commands; k++)
        for (int i = 0; i < n; i++)
            if (strcmp(command[i]->name, main_commands[k]) == 0)
                fprintf(out, "  %-14s  %s\n", command[i]->name, command[i]->summary);
    fputs(
        "\n`evenkeel --help` lists all commands, `evenkeel COMMAND --help` explains one, `evenkeel doctor` checks the\n"
        "installation.\n",
        out);
}

/* The list has no empty line: scripts read it from \"commands:\" to the next one. */
void cli_front_help(const ek_cmd *const *command, int n, FILE *out)
{
    print_purpose(out);
    fputs("\nusage: evenkeel FILE|FOLDER... [OPTIONS]\n       evenkeel COMMAND [OPTIONS]\n\ncommands:\n", out);
    for (int group = 0; group < CLI_N_GROUPS; group++) {
        fprintf(out, " %s\n", group_title[group]);
        for (int i = 0; i < n; i++)
            if ((int)command[i]->group == group)
                fprintf(out, "  %-14s  %s\n", command[i]->name, command[i]->summary);
    }
    fputs("\noptions:\n"
          "  --help     this text; `evenkeel COMMAND --help` explains a command\n"
          "  --version  the version, and which optional parts this build has\n",
          out);
    print_start(out);
}

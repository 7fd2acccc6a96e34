/* Tests scripts and programs under all rules: a program's effect on a script's settings, and texts without findings.
 * The rules' own cases are in lint_programs.h. */
#include "input.h"

#include <unistd.h>

#include "lint/rules.h"
#include "lint_programs.h"

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/ek_lint_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

/* Findings of a rule, or of all with NULL, in files with these texts. */
static int count_in(const ek_lint_kind *kind, const char *const *text, int n_files, const char *id)
{
    static const char *const ending[EK_N_LINT_KINDS] = {"yaml", "sh", "py", "toml"};
    char path[4][128];
    const char *paths[4];
    ek_lint lint;
    ek_error err;
    int n = 0;
    for (int i = 0; i < n_files; i++) {
        snprintf(path[i], sizeof path[i], "%s/%d.%s", folder, i, ending[kind[i]]);
        FILE *file = fopen(path[i], "wb");
        assert_non_null(file);
        fputs(text[i], file);
        assert_int_equal(fclose(file), 0);
        paths[i] = path[i];
    }
    if (ek_lint_run(paths, n_files, NULL, NULL, &lint, &err))
        fail_msg("%d:%d: %s in: %s", err.line, err.column, err.message, text[0]);
    for (int i = 0; i < lint.n_findings; i++)
        n += !id || strcmp(lint.finding[i].rule->id, id) == 0;
    for (int i = 0; i < n_files; i++)
        unlink(path[i]);
    ek_lint_clear(&lint);
    return n;
}

static void rules_find_in_scripts_and_programs_what_the_cases_say(void **state)
{
    (void)state;
    for (const program_case *c = program_cases; c < program_cases + N_PROGRAM_CASES; c++) {
        assert_non_null(ek_lint_rule_find(c->id));
        int n = count_in(&c->kind, &c->text, 1, c->id);
        if (n != c->n)
            fail_msg("%s, %s: %d findings instead of %d", c->id, c->what, n, c->n);
    }
}

/* Of every rule that looks at scripts or programs and has no near miss in test_lint.c. */
static void every_rule_on_scripts_and_programs_has_a_near_miss(void **state)
{
    (void)state;
    static const ek__lint_entry *const tables[] = {ek__lint_launch,  ek__lint_python, ek__lint_hot,  ek__lint_switches,
                                                   ek__lint_dynamic, ek__lint_host,   ek__lint_fused};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const ek__lint_entry *e = tables[t]; e->about.id; e++) {
            bool found = false;
            for (const program_case *c = program_cases; c < program_cases + N_PROGRAM_CASES; c++)
                found = found || (c->n == 0 && strcmp(c->id, e->about.id) == 0);
            if (!found)
                fail_msg("%s has no near miss", e->about.id);
        }
}

/* A script's list is replaced by the program that it starts, in whichever order the files are given. */
static void a_program_replaces_what_a_script_sets(void **state)
{
    (void)state;
    const ek_lint_kind kinds[] = {EK_LINT_PYTHON, EK_LINT_SHELL}, turned[] = {EK_LINT_SHELL, EK_LINT_PYTHON};
    const char *const texts[] = {"import os\nos.environ['MS_ALLOC_CONF'] = 'vmm_align_size:2MB'\n",
                                 "export MS_ALLOC_CONF=enable_vmm:True\npython 0.py\n"};
    const char *const other[] = {texts[1], texts[0]};
    assert_int_equal(count_in(kinds, texts, 2, "allocator-settings-twice"), 1);
    assert_int_equal(count_in(turned, other, 2, "allocator-settings-twice"), 1);
    assert_int_equal(count_in(kinds, texts, 1, "allocator-settings-twice"), 0);
}

/* A script overrides the settings of an environment file that it names; other files are independent of each other. */
static void a_script_replaces_what_an_environment_file_sets(void **state)
{
    (void)state;
    const ek_lint_kind kinds[] = {EK_LINT_SHELL, EK_LINT_SHELL};
    const char *const named[] = {"MS_ALLOC_CONF=enable_vmm:True\n",
                                 ". ./0.sh\nexport MS_ALLOC_CONF=vmm_align_size:2MB\nmsrun x.py\n"};
    const char *const kept[] = {named[0],
                                ". ./0.sh\nexport MS_ALLOC_CONF=enable_vmm:True,vmm_align_size:2MB\nmsrun x\n"};
    const char *const other[] = {named[0], "export MS_ALLOC_CONF=vmm_align_size:2MB\nmsrun x.py\n"};
    const char *const two[] = {"export MS_ALLOC_CONF=enable_vmm:True\nmsrun a.py\n", named[1]};
    assert_int_equal(count_in(kinds, named, 2, "allocator-settings-twice"), 1);
    assert_int_equal(count_in(kinds, kept, 2, "allocator-settings-twice"), 0);
    assert_int_equal(count_in(kinds, other, 2, "allocator-settings-twice"), 0);
    assert_int_equal(count_in(kinds, two, 2, "allocator-settings-twice"), 0);
}

#define SHARED                                                                                                         \
    "model_config: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, seq_length: 4096, vocab_size: "        \
    "32000}\n"                                                                                                         \
    "training_config: {micro_batch_size: 1, global_batch_size: 96, bf16: True, use_distributed_optimizer: True}\n"

/* The size of a program has to divide the data parallelism, which other files of the run set. */
static void a_shard_size_divides_what_other_files_say(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        ek_lint_kind other;
        const char *text, *call;
        int n;
    } cases[] = {
        {"a divisor of the training file's", EK_LINT_YAML, "data_parallel_size: 12", "zero_shard_size=4", 0},
        {"no divisor", EK_LINT_YAML, "data_parallel_size: 12", "zero_shard_size=8", 1},
        {"more than there are", EK_LINT_YAML, "data_parallel_size: 12", "zero_shard_size=24", 1},
        {"all of them", EK_LINT_YAML, "data_parallel_size: 12", "zero_shard_size=12", 0},
        {"a file that leaves them open", EK_LINT_YAML, "context_parallel_size: 1", "zero_shard_size=8", 0},
        {"one, which is out of range and told once", EK_LINT_YAML, "data_parallel_size: 12", "zero_shard_size=1", 1},
        {"the launcher's ranks over the call's degrees", EK_LINT_SHELL, "msrun --worker_num=24 train.py\n",
         "tensor_model_parallel_size=2, pipeline_model_parallel_size=2, zero_shard_size=4", 1},
        {"the same, and a divisor", EK_LINT_SHELL, "msrun --worker_num=24 train.py\n",
         "tensor_model_parallel_size=2, pipeline_model_parallel_size=2, zero_shard_size=3", 0},
        {"by position", EK_LINT_SHELL, "msrun --worker_num 24 train.py\n", "2, 2, zero_shard_size=4", 1},
        {"a degree that is not written out", EK_LINT_SHELL, "msrun --worker_num=24 train.py\n",
         "tensor_model_parallel_size=t, zero_shard_size=5", 0},
        {"degrees that are not named", EK_LINT_SHELL, "msrun --worker_num=24 train.py\n",
         "**degrees, zero_shard_size=5", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char other[512], program[256];
        const ek_lint_kind kinds[] = {cases[i].other, EK_LINT_PYTHON};
        const char *const texts[] = {other, program};
        if (cases[i].other == EK_LINT_YAML)
            snprintf(other, sizeof other, SHARED "parallel_config: {tensor_model_parallel_size: 2, %s}\n",
                     cases[i].text);
        else
            snprintf(other, sizeof other, "%s", cases[i].text);
        snprintf(program, sizeof program, "initialize_model_parallel(%s)\n", cases[i].call);
        int n = count_in(kinds, texts, 2, "zero-shard-size");
        if (n != cases[i].n)
            fail_msg("%s: %d findings, expected %d", cases[i].what, n, cases[i].n);
    }
}

/* Nothing is found where there is nothing, however much it looks like something. */
static void texts_that_look_like_it_are_clean(void **state)
{
    (void)state;
    static const struct {
        ek_lint_kind kind;
        const char *text;
    } cases[] = {
        /* programs: words in texts and comments */
        {EK_LINT_PYTHON, ""},
        {EK_LINT_PYTHON, "\"\"\"ms.set_context(deterministic='ON')\n\ngc.disable()\n\"\"\"\n"},
        {EK_LINT_PYTHON, "import mindspore as ms\n# ms.set_context(deterministic='ON')\n"},
        {EK_LINT_PYTHON, "import mindspore as ms\nx = r'ms.set_context(save_graphs=True)' f'{1} gc.collect()'\n"},
        {EK_LINT_PYTHON, "def f():\n    '''torch.autograd.set_detect_anomaly(True)'''\n    return 1\n"},
        /* other functions, methods and names */
        {EK_LINT_PYTHON, "configure(deterministic='ON', full_batch=True, save_graphs=2)\n"},
        {EK_LINT_PYTHON, "import mindspore as ms\nms.other(deterministic='ON')\n"},
        {EK_LINT_PYTHON, "def f(deterministic='ON', pynative_synchronize=True):\n    pass\n"},
        {EK_LINT_PYTHON, "options = {'deterministic': 'ON', 'MS_ALLOC_CONF': 'enable_vmm=1'}\n"},
        {EK_LINT_PYTHON, "def contiguous(x):\n    return x\n\nfor a in b:\n    contiguous(a)\n"},
        {EK_LINT_PYTHON, "def f(x):\n    return [y.item() for y in x]\n\nprint(f([]))\n"},
        {EK_LINT_PYTHON, "class A:\n    def step(self):\n        self.x.sum()\n\nfor a in b:\n    a.step()\n"},
        {EK_LINT_PYTHON, "for move in moves:\n    robot.step(move)\n    print(robot.position.item())\n"},
        {EK_LINT_PYTHON, "import gc\nfor f in files:\n    read(f)\n    gc.collect()\n"},
        {EK_LINT_PYTHON, "import gc\nwith paused():\n    gc.disable()\n    run()\n    gc.enable()\n"},
        {EK_LINT_PYTHON, "total = sum(sizes)\nprint(total, values.sum())\n"},
        {EK_LINT_PYTHON, "import numpy as np\nfor i in range(9):\n    a = np.asarray([i]).tolist()\n"},
        {EK_LINT_PYTHON, "from torch.utils.data import Dataset\nclass DataLoader:\n    pass\nDataLoader(1)\n"},
        {EK_LINT_PYTHON, "from line_profiler import profile\n@profile\ndef f():\n    pass\n"},
        {EK_LINT_PYTHON, "import schedule\nschedule.every(10).minutes.do(job)\n"},
        {EK_LINT_PYTHON, "import torch\nfor s in steps:\n    x = torch.tensor([1, 2])\n    opt.step()\n"},
        {EK_LINT_PYTHON, "import torch\nif torch.backends.cudnn.deterministic == True:\n    pass\n"},
        {EK_LINT_PYTHON, "import torch\ntorch.backends.cudnn.deterministic = False\n"},
        {EK_LINT_PYTHON, "class Bprop:\n    def run(self):\n        return 'def bprop(self):'\n"},
        /* the environment, read or made for others */
        {EK_LINT_PYTHON, "import os\nx = os.environ.get('HCCL_DETERMINISTIC', 'true')\n"},
        {EK_LINT_PYTHON, "import os\nif os.environ['CUDA_LAUNCH_BLOCKING'] == '1':\n    pass\n"},
        {EK_LINT_PYTHON, "import os\nenv = os.environ.copy()\nenv['CUDA_LAUNCH_BLOCKING'] = '1'\n"},
        {EK_LINT_PYTHON, "import os\ndel os.environ['CUDA_LAUNCH_BLOCKING']\n"},
        {EK_LINT_PYTHON, "import os\nos.environ['CUDA_LAUNCH_BLOCKING'] = str(int(debug))\n"},
        /* forms of the language */
        {EK_LINT_PYTHON, "match x:\n    case {'loss': loss} if (n := len(x)) > 1:\n        print(loss)\n"},
        {EK_LINT_PYTHON, "async def f():\n    async for x in y:\n        await x.item()\n"},
        {EK_LINT_PYTHON, "if x:\n\tfor a in b:\n\t\tprint(a)\n"},
        {EK_LINT_PYTHON, "\xef\xbb\xbfimport os\r\nprint(os.name)\r\n"},
        {EK_LINT_PYTHON, "\xe8\xae\xad\xe7\xbb\x83 = 1\nprint(\xe8\xae\xad\xe7\xbb\x83)\n"},
        /* scripts: words in texts, comments and arguments */
        {EK_LINT_SHELL, ""},
        {EK_LINT_SHELL, "#!/bin/sh\nset -eu\ncd \"$(dirname \"$0\")\"\nfor f in *; do echo \"$f\"; done\n"},
        {EK_LINT_SHELL, "echo \"export HCCL_DETERMINISTIC=true\"\necho 'CUDA_LAUNCH_BLOCKING=1'\n"},
        {EK_LINT_SHELL, "grep HCCL_DETERMINISTIC=true run.log # export HCCL_DETERMINISTIC=true\n"},
        {EK_LINT_SHELL, "sed -i s/GLOG_v=0/GLOG_v=1/ run.sh\n"},
        {EK_LINT_SHELL, "cat <<END >other.sh\nexport CUDA_LAUNCH_BLOCKING=1\nEND\n"},
        {EK_LINT_SHELL, "cat <<-'END' >other.sh\n\texport CUDA_LAUNCH_BLOCKING=1\n\tEND\n"},
        {EK_LINT_SHELL, "export MY_HCCL_DETERMINISTIC=true HCCL_DETERMINISTIC_OLD=true\n"},
        {EK_LINT_SHELL, "export HCCL_DETERMINISTIC\nexport CUDA_LAUNCH_BLOCKING=\n"},
        {EK_LINT_SHELL, "export HCCL_DETERMINISTIC=\"$1\" CUDA_LAUNCH_BLOCKING=${DEBUG}\n"},
        {EK_LINT_SHELL, "[ \"$HCCL_DETERMINISTIC\" = true ] || echo no\n"},
        {EK_LINT_SHELL, "set -euo pipefail\nNAMES=(a b 'c d')\necho \"${NAMES[@]}\" $((1 << 2))\n"},
        {EK_LINT_SHELL, "run() {\n  local GLOG_v=0\n  echo \"$1\"\n}\nrun x\n"},
        {EK_LINT_SHELL, "export A=1 B=2\r\nA=3 python x.py\r\n"},
        {EK_LINT_SHELL, "export GLOG_v=0; unset GLOG_v\npython x.py\n"},
        {EK_LINT_SHELL, "while read -r GLOG_v; do :; done <list\n"},
        /* YAMLs: comments, texts, other places, forms */
        {EK_LINT_YAML, "a: 1 # save_graphs: True\n"},
        {EK_LINT_YAML, "context: {note: 'save_graphs: True'}\n"},
        {EK_LINT_YAML, "context:\n  note: |\n    save_graphs: True\n    deterministic: \"ON\"\n"},
        {EK_LINT_YAML, "eval: {save_graphs: True, profile: True}\n"},
        {EK_LINT_YAML, "dataset: {loader: {deterministic: True}}\n"},
        {EK_LINT_YAML, "base: &b {deterministic: \"ON\"}\nother: *b\n"},
        {EK_LINT_YAML, "{\"context\": {\"save_graphs\": false, \"deterministic\": \"OFF\"}}\n"},
        {EK_LINT_YAML, "context: {save_graphs: , deterministic: ~}\nprofile:\n"},
        {EK_LINT_YAML, "profile: train\ncontext: [save_graphs, deterministic]\n"},
        {EK_LINT_YAML, "\xef\xbb\xbf# \xe8\xae\xad\r\ncontext:\r\n  \"\xe8\xae\xad\": 1\r\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int n = count_in(&cases[i].kind, &cases[i].text, 1, NULL);
        if (n > 0)
            fail_msg("%d findings in: %s", n, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_find_in_scripts_and_programs_what_the_cases_say),
        cmocka_unit_test(every_rule_on_scripts_and_programs_has_a_near_miss),
        cmocka_unit_test(a_program_replaces_what_a_script_sets),
        cmocka_unit_test(a_shard_size_divides_what_other_files_say),
        cmocka_unit_test(a_script_replaces_what_an_environment_file_sets),
        cmocka_unit_test(texts_that_look_like_it_are_clean),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

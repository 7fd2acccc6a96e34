// The fullest stage of a training job, from C++: memory TRAIN.yaml
#include <cstdlib>
#include <evenkeel/evenkeel.h>
#include <iostream>
#include <memory>
#include <string>
struct sink {
    std::string text;
    static bool take(void *user, const char *bytes, size_t size)
    {
        static_cast<sink *>(user)->text.append(bytes, size);
        return true;
    }
};
int main(int argc, char **argv)
{
    ek_error err{};
    auto job = std::unique_ptr<ek_job, void (*)(ek_job *)>(new ek_job{}, [](ek_job *j) { ek_job_clear(j), delete j; });
    ek_memory memory{};
    if (argc < 2 || ek_job_read(argv[1], nullptr, nullptr, job.get(), &err) != EK_OK ||
        ek_memory_predict(job.get(), nullptr, &memory, &err) != EK_OK) {
        std::cerr << err.message << "\n";
        return 1;
    }
    ek_memory_report report{};
    report.job = job.get(), report.memory = &memory, report.stage = -1;
    sink out;
    if (ek_write_sink(ek_output_of_memory(&report), "csv", sink::take, &out, &err) == EK_OK)
        std::cout << "fullest stage " << memory.fullest << ", " << memory.stage[memory.fullest].actual_peak / 1048576
                  << " MB\n"
                  << out.text;
    ek_memory_clear(&memory);
    return 0;
}

// Runs a model that is compiled for CUDA devices, with tensors on the host, on the device and in memory of the device
// that the caller owns. Prints "ok" at the end.
#include "hammock.hpp"

#include <iostream>

using hammock::Value;

#define CHECK(condition)                                                                                   \
    do {                                                                                                   \
        if (!(condition)) throw std::runtime_error("line " + std::to_string(__LINE__) + ": " + #condition); \
    } while (0)

using Floats = std::vector<float>;

static bool is_cuda(const Value &value, int32_t number) {
    hammock_device device = value.view().device;
    return device.kind == HAMMOCK_DEVICE_CUDA && device.id == number;
}

static void run(const char *path) {
    const hammock_device cuda{HAMMOCK_DEVICE_CUDA, 0}, second{HAMMOCK_DEVICE_CUDA, 1};
    hammock::Library library = hammock::Library::open(path);
    hammock::Vm vm(library);
    CHECK(vm.devices()[0].kind == HAMMOCK_DEVICE_CUDA && vm.devices()[1].kind == HAMMOCK_DEVICE_CPU);

    Value x = Value::tensor<float>({2, 3}, {0, 1, 2, 3, 4, 5}), y = Value::tensor<float>({2, 3}, Floats(6, 2));
    const Floats sums{2, 3, 4, 5, 6, 7};
    Value there = x.to_device(cuda);
    CHECK(is_cuda(there, 0) && there.elements<float>() == x.elements<float>());
    CHECK(vm.call("main", x, y)[0].elements<float>() == sums);
    Value result = vm.call("main", there, y.to_device(cuda));
    CHECK(is_cuda(result[0], 0) && result[0].elements<float>() == sums);
    CHECK((result[1][0].elements<float>() == Floats{0, 2, 4, 6, 8, 10}));

    // Memory of the device that somebody else owns is used where it is.
    hammock_tensor memory = there.view();
    Value lent = Value::borrow(memory, std::make_shared<Value>(there));
    CHECK(lent.view().data == memory.data && vm.call("main", lent, y)[0].elements<float>() == sums);
    Value passed = Value::from_dlpack(there.to_dlpack().release());
    CHECK(passed.view().data == memory.data && vm.call("main", passed, y)[0].elements<float>() == sums);

    // Results go into tensors of the caller, on the host and on the device.
    Value host = Value::tensor<float>({2, 3}, Floats(6)), device = Value::tensor<float>({2, 3}, Floats(6)).to_device(cuda);
    vm.call_into("main", {x, y}, {host, device});
    CHECK(host.elements<float>() == sums && (device.elements<float>() == Floats{0, 2, 4, 6, 8, 10}));

    hammock::Options options;
    options.devices = {second};
    hammock::Vm other(library, options);
    CHECK(is_cuda(other.call("main", x, y)[0], 1));
    options.devices = {{HAMMOCK_DEVICE_CUDA, 7}};
    try {
        hammock::Vm missing(library, options);
        CHECK(false);
    } catch (const hammock::Error &error) {
        CHECK(error.message().find("there is no device cuda:7") != std::string::npos);
    }
}

int main(int, char **argv) {
    try {
        run(argv[1]);
    } catch (const std::exception &error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
    std::cout << "ok\n";
}

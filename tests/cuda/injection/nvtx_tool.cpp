// A tool of NVTX, which NVTX_INJECTION64_PATH names: writes a line for each range of a domain that
// a thread opens or closes into the file FORESHARD_NVTX_RANGES names.
//
//   open THREAD DOMAIN PAYLOAD NAME      close THREAD DOMAIN
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

namespace {

std::mutex mutex;
std::set<std::string> texts;  // whose characters' addresses are the handles

std::FILE* ranges() {
  static std::FILE* const file = std::fopen(std::getenv("FORESHARD_NVTX_RANGES"), "w");
  return file;
}

const char* keep(const char* text) {
  const std::scoped_lock lock(mutex);
  return texts.insert(text).first->c_str();
}

nvtxDomainHandle_t create_domain(const char* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(const_cast<char*>(keep(name)));
}

nvtxStringHandle_t register_string(nvtxDomainHandle_t, const char* text) {
  return reinterpret_cast<nvtxStringHandle_t>(const_cast<char*>(keep(text)));
}

int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  const bool is_registered = attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
  const char* const name = is_registered
                               ? reinterpret_cast<const char*>(attributes->message.registered)
                               : attributes->message.ascii;
  const bool has_payload = attributes->payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  const std::scoped_lock lock(mutex);
  std::fprintf(ranges(), "open %d %s %llu %s\n", static_cast<int>(gettid()),
               reinterpret_cast<const char*>(domain),
               has_payload ? static_cast<unsigned long long>(attributes->payload.ullValue) : 0,
               name);
  return 0;
}

int pop(nvtxDomainHandle_t domain) {
  const std::scoped_lock lock(mutex);
  std::fprintf(ranges(), "close %d %s\n", static_cast<int>(gettid()),
               reinterpret_cast<const char*>(domain));
  std::fflush(ranges());
  return 0;
}

template <class Function>
void set(NvtxFunctionTable table, unsigned size, int number, Function* function) {
  if (static_cast<unsigned>(number) < size) {
    *table[number] = reinterpret_cast<NvtxFunctionPointer>(function);
  }
}

}  // namespace

// NVTX's convention: 1 where all went well.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || ranges() == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) {
    return 0;
  }
  set(table, size, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  set(table, size, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  set(table, size, NVTX_CBID_CORE2_DomainRangePushEx, push);
  set(table, size, NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}

#include "runtime/graph/left_out_ops.h"

#include <algorithm>
#include <iterator>

namespace tensorfleet {
namespace {

constexpr char kPython[] =
    "its function lives in the client's process; feed its results, or write them to TFRecord files "
    "and read those";
constexpr char kDataService[] =
    "there is no data service; read files on the workers and shard them by task";
constexpr char kDatabase[] = "databases are not read; convert them to TFRecord files";
constexpr char kQuantized[] =
    "quantized inference is not what these servers are for; export the model before it is "
    "quantized";
constexpr char kXla[] =
    "it is internal to XLA; export the graph without jit_compile, it is compiled here where a "
    "device "
    "can";
constexpr char kDebug[] =
    "TensorFlow's debugger adds it; run the session without the debug wrapper";
constexpr char kRpc[] =
    "calls of servers from graphs are not supported; place ops by tf.device instead";
constexpr char kBatching[] = "it is for inference servers; feed batches instead";
constexpr char kMutex[] = "locks inside graphs are not supported; use control dependencies";
constexpr char kTensorMap[] = "maps of tensors are not supported; use a lookup table";
constexpr char kSdca[] = "dual coordinate ascent is not supported; use an optimizer such as Ftrl";
constexpr char kUnused[] = "no program for parameter servers was seen to use it";

struct LeftOut {
  absl::string_view op;
  const char* why;
};

// Sorted by name.
constexpr LeftOut kLeftOut[] = {
    {"AudioMicrofrontend", kUnused},
    {"Batch", kBatching},
    {"BatchFunction", kBatching},
    {"CompositeTensorVariantFromComponents", kUnused},
    {"CompositeTensorVariantToComponents", kUnused},
    {"ComputeBatchSize", kUnused},
    {"ConstructionFails", kUnused},
    {"ConsumeMutexLock", kMutex},
    {"Copy", kDebug},
    {"CopyHost", kDebug},
    {"CreateSummaryDbWriter", kUnused},
    {"CustomAggregator", kQuantized},
    {"DataServiceDataset", kDataService},
    {"DataServiceDatasetV2", kDataService},
    {"DataServiceDatasetV3", kDataService},
    {"DataServiceDatasetV4", kDataService},
    {"DebugGradientRefIdentity", kDebug},
    {"DebugIdentity", kDebug},
    {"DebugIdentityV2", kDebug},
    {"DebugNanCount", kDebug},
    {"DebugNumericSummary", kDebug},
    {"DebugNumericSummaryV2", kDebug},
    {"DeleteRpcFutureResource", kRpc},
    {"Dequantize", kQuantized},
    {"DeviceIndex", kUnused},
    {"DevicePlacementOp", kUnused},
    {"DistributedSave", kUnused},
    {"DtypeWithDefaultOp", kUnused},
    {"DummyIterationCounter", kUnused},
    {"DumpTensor", kDebug},
    {"EagerPyFunc", kPython},
    {"EmptyTensorMap", kTensorMap},
    {"ExperimentalLMDBDataset", kDatabase},
    {"ExperimentalSqlDataset", kDatabase},
    {"Fact", kUnused},
    {"FileSystemSetConfiguration", kUnused},
    {"FusedPadConv2D", kUnused},
    {"FusedResizeAndPadConv2D", kUnused},
    {"GenerateVocabRemapping", kUnused},
    {"GetDeadline", kUnused},
    {"GraphDefVersion", kUnused},
    {"HostConst", kUnused},
    {"ImportEvent", kUnused},
    {"IsTensorFloat32Enabled", kQuantized},
    {"KMC2ChainInitialization", kUnused},
    {"KernelLabel", kUnused},
    {"KernelLabelRequired", kUnused},
    {"KmeansPlusPlusInitialization", kUnused},
    {"LMDBDataset", kDatabase},
    {"LMDBReader", kDatabase},
    {"LoadAndRemapMatrix", kUnused},
    {"MutexLock", kMutex},
    {"MutexV2", kMutex},
    {"NearestNeighbors", kUnused},
    {"NegTrain", kUnused},
    {"Old", kUnused},
    {"PyFunc", kPython},
    {"PyFuncStateless", kPython},
    {"QuantizeDownAndShrinkRange", kQuantized},
    {"QuantizeV2", kQuantized},
    {"QuantizedAdd", kQuantized},
    {"QuantizedAvgPool", kQuantized},
    {"QuantizedBatchNormWithGlobalNormalization", kQuantized},
    {"QuantizedBiasAdd", kQuantized},
    {"QuantizedConcat", kQuantized},
    {"QuantizedConcatV2", kQuantized},
    {"QuantizedConv2D", kQuantized},
    {"QuantizedConv2DAndRelu", kQuantized},
    {"QuantizedConv2DAndReluAndRequantize", kQuantized},
    {"QuantizedConv2DAndRequantize", kQuantized},
    {"QuantizedConv2DPerChannel", kQuantized},
    {"QuantizedConv2DWithBias", kQuantized},
    {"QuantizedConv2DWithBiasAndRelu", kQuantized},
    {"QuantizedConv2DWithBiasAndReluAndRequantize", kQuantized},
    {"QuantizedConv2DWithBiasAndRequantize", kQuantized},
    {"QuantizedConv2DWithBiasSignedSumAndReluAndRequantize", kQuantized},
    {"QuantizedConv2DWithBiasSumAndRelu", kQuantized},
    {"QuantizedConv2DWithBiasSumAndReluAndRequantize", kQuantized},
    {"QuantizedDepthwiseConv2D", kQuantized},
    {"QuantizedDepthwiseConv2DWithBias", kQuantized},
    {"QuantizedDepthwiseConv2DWithBiasAndRelu", kQuantized},
    {"QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", kQuantized},
    {"QuantizedInstanceNorm", kQuantized},
    {"QuantizedMatMul", kQuantized},
    {"QuantizedMatMulWithBias", kQuantized},
    {"QuantizedMatMulWithBiasAndDequantize", kQuantized},
    {"QuantizedMatMulWithBiasAndRelu", kQuantized},
    {"QuantizedMatMulWithBiasAndReluAndRequantize", kQuantized},
    {"QuantizedMatMulWithBiasAndRequantize", kQuantized},
    {"QuantizedMaxPool", kQuantized},
    {"QuantizedMul", kQuantized},
    {"QuantizedRelu", kQuantized},
    {"QuantizedRelu6", kQuantized},
    {"QuantizedReshape", kQuantized},
    {"QuantizedResizeBilinear", kQuantized},
    {"RegisterDataset", kUnused},
    {"RegisterDatasetV2", kUnused},
    {"RequantizationRange", kQuantized},
    {"RequantizationRangePerChannel", kQuantized},
    {"Requantize", kQuantized},
    {"RequantizePerChannel", kQuantized},
    {"ResourceCreateOp", kUnused},
    {"ResourceInitializedOp", kUnused},
    {"ResourceUsingOp", kUnused},
    {"RpcCall", kRpc},
    {"RpcCheckStatus", kRpc},
    {"RpcClient", kRpc},
    {"RpcGetValue", kRpc},
    {"RpcServer", kRpc},
    {"RpcServerRegister", kRpc},
    {"RpcServerStart", kRpc},
    {"SdcaFprint", kSdca},
    {"SdcaOptimizer", kSdca},
    {"SdcaOptimizerV2", kSdca},
    {"SdcaShrinkL1", kSdca},
    {"Skipgram", kUnused},
    {"SleepDataset", kUnused},
    {"SleepIdentityOp", kUnused},
    {"SleepOp", kUnused},
    {"SqlDataset", kDatabase},
    {"StubResourceHandleOp", kUnused},
    {"TensorMapErase", kTensorMap},
    {"TensorMapHasKey", kTensorMap},
    {"TensorMapInsert", kTensorMap},
    {"TensorMapLookup", kTensorMap},
    {"TensorMapSize", kTensorMap},
    {"TensorMapStackKeys", kTensorMap},
    {"TestAttr", kUnused},
    {"TfLiteSubgraphExecute", kUnused},
    {"ToBool", kUnused},
    {"Unbatch", kBatching},
    {"UnbatchGrad", kBatching},
    {"UniformDequantize", kQuantized},
    {"UniformQuantize", kQuantized},
    {"UniformQuantizedAdd", kQuantized},
    {"UniformQuantizedClipByValue", kQuantized},
    {"UniformQuantizedConvolution", kQuantized},
    {"UniformQuantizedConvolutionHybrid", kQuantized},
    {"UniformQuantizedDot", kQuantized},
    {"UniformQuantizedDotHybrid", kQuantized},
    {"WindowOp", kUnused},
    {"XlaBroadcastHelper", kXla},
    {"XlaCallModule", kXla},
    {"XlaConv", kXla},
    {"XlaConvV2", kXla},
    {"XlaDequantize", kXla},
    {"XlaDot", kXla},
    {"XlaDotV2", kXla},
    {"XlaDynamicSlice", kXla},
    {"XlaDynamicUpdateSlice", kXla},
    {"XlaEinsum", kXla},
    {"XlaGather", kXla},
    {"XlaIf", kXla},
    {"XlaKeyValueSort", kXla},
    {"XlaLaunch", kXla},
    {"XlaLaunchV2", kXla},
    {"XlaOptimizationBarrier", kXla},
    {"XlaPad", kXla},
    {"XlaRecv", kXla},
    {"XlaReduce", kXla},
    {"XlaReducePrecision", kXla},
    {"XlaReduceWindow", kXla},
    {"XlaReplicaId", kXla},
    {"XlaRngBitGenerator", kXla},
    {"XlaScatter", kXla},
    {"XlaSelectAndScatter", kXla},
    {"XlaSelfAdjointEig", kXla},
    {"XlaSend", kXla},
    {"XlaSharding", kXla},
    {"XlaSort", kXla},
    {"XlaSpmdShardToFullShape", kXla},
    {"XlaSvd", kXla},
    {"XlaVariadicReduce", kXla},
    {"XlaVariadicReduceV2", kXla},
    {"XlaVariadicSort", kXla},
    {"XlaWhile", kXla},
};

}  // namespace

std::string WhyLeftOut(absl::string_view op) {
  const auto* const found = std::lower_bound(
      std::begin(kLeftOut), std::end(kLeftOut), op,
      [](const LeftOut& entry, absl::string_view name) { return entry.op < name; });
  return found != std::end(kLeftOut) && found->op == op ? found->why : "";
}

}  // namespace tensorfleet

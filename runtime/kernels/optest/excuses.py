"""What coverage.py lets pass, with the reasons."""

from __future__ import annotations

# Op -> why it has no kernels for some types that TensorFlow has on CPU.
WITHOUT_TYPES: dict[str, str] = {
    "ClipByValue": "complex numbers have no order",
    "Conj": "its variants are lists of complex tensors, which no graph in sight conjugates",
}

_OLD = "TensorFlow's client refuses to build it, for it is from graphs of before 2017; its kernel is its successor's"
_INTERNAL = "made by partitioning and rewriting, not by clients: each step of each test runs through it"

# Data sets and iterators are compared as whole pipelines, element by element.
_DATA = """
AssertCardinalityDataset ExperimentalMaxIntraOpParallelismDataset ExperimentalPrivateThreadPoolDataset
MaxIntraOpParallelismDataset PrivateThreadPoolDataset RewriteDataset
AnonymousIterator AnonymousIteratorV2 AnonymousIteratorV3 AnonymousMemoryCache AnonymousRandomSeedGenerator
AnonymousSeedGenerator BatchDataset BatchDatasetV2 CacheDataset CacheDatasetV2 ConcatenateDataset DatasetCardinality
DatasetToSingleElement DeleteIterator DeleteMemoryCache DeleteRandomSeedGenerator DeleteSeedGenerator
DirectedInterleaveDataset DummyMemoryCache DummySeedGenerator ExperimentalDatasetCardinality
ExperimentalDirectedInterleaveDataset ExperimentalGroupByReducerDataset ExperimentalGroupByWindowDataset
ExperimentalIgnoreErrorsDataset ExperimentalIteratorGetDevice ExperimentalMapAndBatchDataset
ExperimentalNonSerializableDataset ExperimentalParallelInterleaveDataset ExperimentalRandomDataset
ExperimentalRebatchDataset ExperimentalScanDataset ExperimentalTakeWhileDataset ExperimentalUnbatchDataset
ExperimentalUniqueDataset FilterDataset FinalizeDataset FixedLengthRecordDataset FixedLengthRecordDatasetV2 FlatMapDataset GetOptions
GroupByReducerDataset GroupByWindowDataset IgnoreErrorsDataset InterleaveDataset Iterator IteratorFromStringHandle
IteratorFromStringHandleV2 IteratorGetDevice IteratorGetNext IteratorGetNextAsOptional IteratorGetNextSync
IteratorToStringHandle IteratorV2 LegacyParallelInterleaveDatasetV2 ListDataset MakeIterator MapAndBatchDataset
MapDataset ModelDataset NonSerializableDataset OneShotIterator OptimizeDataset OptimizeDatasetV2 OptionsDataset
PaddedBatchDataset PaddedBatchDatasetV2 ParallelBatchDataset ParallelFilterDataset ParallelInterleaveDataset
ParallelInterleaveDatasetV2 ParallelInterleaveDatasetV3 ParallelInterleaveDatasetV4 ParallelMapDataset
ParallelMapDatasetV2 PrefetchDataset RandomDataset RandomDatasetV2 RangeDataset RebatchDataset RebatchDatasetV2
ReduceDataset RepeatDataset SparseTensorSliceDataset
SamplingDataset ScanDataset ShardDataset ShuffleAndRepeatDataset ShuffleAndRepeatDatasetV2 ShuffleDataset
ShuffleDatasetV2 ShuffleDatasetV3 SkipDataset TFRecordDataset TFRecordDatasetV2 TakeDataset TakeWhileDataset
TensorDataset TensorSliceDataset TextLineDataset UnbatchDataset UniqueDataset WindowDataset ZipDataset
""".split()

_COLLECTIVES = """
CollectiveAllToAllV2 CollectiveAllToAllV3 CollectiveAssignGroupV2 CollectiveBcastRecv CollectiveBcastRecvV2
CollectiveBcastSend CollectiveBcastSendV2 CollectiveGather CollectiveGatherV2 CollectiveInitializeCommunicator
CollectiveReduce CollectiveReduceScatterV2 CollectiveReduceV2 CollectiveReduceV3
""".split()

# Op -> what tests it instead of the op test.
UNTESTED: dict[str, str] = {
    "Abort": "ends the process",
    "AudioSummary": _OLD,
    **dict.fromkeys(_DATA, "e2e/cases/data_cases.py"),
    **dict.fromkeys(_COLLECTIVES, "e2e/cases/collective_cases.py and rpc/collective_test.cc: it takes several devices"),
    **dict.fromkeys(("DeserializeIterator", "SerializeIterator"), "e2e/cases/iterator_cases.py"),
    **dict.fromkeys(("FleetBeginSave", "FleetEndSave"), "ours: checkpoint_ops_test.cc"),
    "ImageSummary": "its PNG is compressed by another encoder: summaries_test.cc decodes it",
    "MutableDenseHashTable": "TensorFlow's kernel asks for a deleted key, which the op has no input for: lookup_test.cc",
    "PlaceholderV2": _OLD,
    "RefNextIteration": "in a loop that by itself would not end: executor tests",
    "RemoteCall": "refused: function_runtime_test.cc",
    "Timestamp": "never the same twice",
    **dict.fromkeys(("FixedLengthRecordReader", "IdentityReader", "TFRecordReader", "TextLineReader", "WholeFileReader", "ReaderNumRecordsProduced",
                     "ReaderNumWorkUnitsCompleted", "ReaderRead", "ReaderReadUpTo", "ReaderReset", "ReaderRestoreState", "ReaderSerializeState"), _OLD),
    "TopK": _OLD,
    **dict.fromkeys(("BatchCholesky", "BatchCholeskyGrad", "BatchMatrixBandPart", "BatchMatrixDeterminant", "BatchMatrixDiag", "BatchMatrixDiagPart",
                     "BatchMatrixInverse", "BatchMatrixSetDiag", "BatchMatrixSolve", "BatchMatrixSolveLs", "BatchMatrixTriangularSolve",
                     "BatchSelfAdjointEig", "BatchSelfAdjointEigV2", "BatchSvd", "Conv3DBackpropFilter", "Conv3DBackpropInput", "MatrixExponential", "QuantizeAndDequantize", "RandomPoisson",
                     "SelfAdjointEig", "StatefulStandardNormal"), _OLD),
    **dict.fromkeys(("_Arg", "_DeviceArg", "_DeviceRetval", "_FusedMatMul", "_HostRecv", "_HostSend", "_If", "_ParallelConcatStart",
                     "_ParallelConcatUpdate", "_ReadVariablesOp", "_Recv", "_ReserveRandom", "_Retval", "_Send", "_SwitchN",
                     "_VarHandlesOp", "_While"), _INTERNAL),
}

// Ops through which no gradient flows: their results are numbers of things, comparisons, random, or
// do not change with small changes of what goes in. Ops that have no result of a floating type need
// no entry.
#include "runtime/client/gradients/families.h"

namespace tensorfleet {

void RegisterConstantOps(GradientRegistry& registry) {
  // Flat except where they jump.
  for (const char* op : {"Floor", "Ceil", "Round", "Rint", "FloorDiv", "TruncateDiv", "Bitcast"}) {
    registry.AddConstant(op);
  }
  // Values that depend on a shape or a type alone, or that front-ends treat as constants.
  for (const char* op : {"ZerosLike", "OnesLike", "Range", "LinSpace", "OneHot", "Empty"}) {
    registry.AddConstant(op);
  }
  // What queues, tables and other state give out was not computed from the op's inputs in this
  // step.
  for (const char* op : {"QueueDequeueV2", "QueueDequeueManyV2", "QueueDequeueUpToV2",
                         "ResourceAccumulatorTakeGradient", "DestroyTemporaryVariable",
                         "LookupTableFindV2", "LookupTableExportV2"}) {
    registry.AddConstant(op);
  }
  // What is read from bytes, and handles of tables that hold no gradient.
  for (const char* op :
       {"ParseExample", "ParseExampleV2", "ParseSingleExample", "ParseSequenceExample",
        "ParseSequenceExampleV2", "ParseSingleSequenceExample", "DecodeCSV",
        "MutableDenseHashTableV2", "AnonymousMutableDenseHashTable"}) {
    registry.AddConstant(op);
  }
  // Choices and lists of numbers, and what was read back from bytes.
  for (const char* op : {"NonMaxSuppressionV5", "RaggedRange", "SerializeSparse",
                         "SerializeManySparse", "DeserializeSparse", "SerializeIterator"}) {
    registry.AddConstant(op);
  }
  // Elements of data sets were not computed from this step's tensors; TensorFlow's client does not
  // go through them either.
  for (const char* op : {"AssertCardinalityDataset",
                         "RebatchDataset",
                         "RebatchDatasetV2",
                         "SparseTensorSliceDataset",
                         "BatchDataset",
                         "BatchDatasetV2",
                         "CacheDataset",
                         "CacheDatasetV2",
                         "ConcatenateDataset",
                         "DatasetToSingleElement",
                         "DirectedInterleaveDataset",
                         "ExperimentalDirectedInterleaveDataset",
                         "ExperimentalGroupByReducerDataset",
                         "ExperimentalGroupByWindowDataset",
                         "ExperimentalIgnoreErrorsDataset",
                         "ExperimentalMapAndBatchDataset",
                         "ExperimentalMaxIntraOpParallelismDataset",
                         "ExperimentalNonSerializableDataset",
                         "ExperimentalParallelInterleaveDataset",
                         "ExperimentalPrivateThreadPoolDataset",
                         "ExperimentalRebatchDataset",
                         "ExperimentalScanDataset",
                         "ExperimentalTakeWhileDataset",
                         "ExperimentalUnbatchDataset",
                         "ExperimentalUniqueDataset",
                         "FilterDataset",
                         "FinalizeDataset",
                         "FlatMapDataset",
                         "GroupByReducerDataset",
                         "GroupByWindowDataset",
                         "IgnoreErrorsDataset",
                         "InterleaveDataset",
                         "IteratorGetNext",
                         "IteratorGetNextAsOptional",
                         "IteratorGetNextSync",
                         "LegacyParallelInterleaveDatasetV2",
                         "ListDataset",
                         "MapAndBatchDataset",
                         "MapDataset",
                         "MaxIntraOpParallelismDataset",
                         "ModelDataset",
                         "NonSerializableDataset",
                         "OptimizeDataset",
                         "OptimizeDatasetV2",
                         "OptionsDataset",
                         "PaddedBatchDataset",
                         "PaddedBatchDatasetV2",
                         "ParallelBatchDataset",
                         "ParallelFilterDataset",
                         "ParallelInterleaveDataset",
                         "ParallelInterleaveDatasetV2",
                         "ParallelInterleaveDatasetV3",
                         "ParallelInterleaveDatasetV4",
                         "ParallelMapDataset",
                         "ParallelMapDatasetV2",
                         "PrefetchDataset",
                         "PrivateThreadPoolDataset",
                         "RandomDatasetV2",
                         "ReduceDataset",
                         "RepeatDataset",
                         "RewriteDataset",
                         "SamplingDataset",
                         "ScanDataset",
                         "ShardDataset",
                         "ShuffleAndRepeatDataset",
                         "ShuffleAndRepeatDatasetV2",
                         "ShuffleDataset",
                         "ShuffleDatasetV2",
                         "ShuffleDatasetV3",
                         "SkipDataset",
                         "TakeDataset",
                         "TakeWhileDataset",
                         "TensorDataset",
                         "TensorSliceDataset",
                         "UnbatchDataset",
                         "UniqueDataset",
                         "WindowDataset",
                         "ZipDataset"}) {
    registry.AddConstant(op);
  }
  // Asked for by the author of the graph.
  registry.AddConstant("StopGradient");
  // Permutations and selections whose order is no function to differentiate.
  for (const char* op : {"RandomShuffle", "Unique", "UniqueWithCounts", "UniqueV2",
                         "UniqueWithCountsV2", "ListDiff"}) {
    registry.AddConstant(op);
  }
}

}  // namespace tensorfleet

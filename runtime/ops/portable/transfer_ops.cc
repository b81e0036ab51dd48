// Ops that graph rewrites put where a graph is cut: between devices and tasks, at feeds and
// fetches, at the arguments and results of functions.
#include "runtime/ops/shape_rules.h"

namespace tensorfleet {
namespace {

OpSchemaBuilder WithKeyAttrs(OpSchemaBuilder op) {
  op.Attr("tensor_name: string")
      .Attr("send_device: string")
      .Attr("send_device_incarnation: int")
      .Attr("recv_device: string")
      .Attr("client_terminated: bool = false")
      .Stateful()
      .Shape(shapes::UnknownShapes);
  return op;
}

}  // namespace

void RegisterTransferOps(OpRegistry& ops) {
  for (const char* name : {"_Send", "_HostSend"}) {
    ops.Add(WithKeyAttrs(OpSchemaBuilder(name).Input("tensor: T").Attr("T: type"))
                .Doc("Sends a tensor, or that it is dead, to the device recv_device."));
  }
  for (const char* name : {"_Recv", "_HostRecv"}) {
    ops.Add(
        WithKeyAttrs(OpSchemaBuilder(name).Output("tensor: tensor_type").Attr("tensor_type: type"))
            .Doc("Receives a tensor from the device send_device."));
  }
  for (const char* name : {"_Arg", "_DeviceArg"}) {
    ops.Add(OpSchemaBuilder(name)
                .Output("output: T")
                .Attr("T: type")
                .Attr("index: int >= 0")
                .Stateful()
                .Shape(shapes::UnknownShapes)
                .Doc("An argument of the function around it."));
  }
  ops.Add(
      OpSchemaBuilder("_Cluster")
          .Input("inputs: Tin")
          .Output("outputs: Tout")
          .Attr("Tin: list(type)")
          .Attr("Tout: list(type)")
          .Attr("body: string")
          .Stateful()
          .AllowsUninitializedInput()
          .Shape(shapes::UnknownShapes)
          .Doc("Runs `body`, a serialized GraphDef with _Arg and _Retval nodes, as one piece that "
               "its device compiles."));
  for (const char* name : {"_Retval", "_DeviceRetval"}) {
    ops.Add(OpSchemaBuilder(name)
                .Input("input: T")
                .Attr("T: type")
                .Attr("index: int >= 0")
                .Stateful()
                .Shape(shapes::UnknownShapes)
                .Doc("A result of the function around it."));
  }
}

}  // namespace tensorfleet

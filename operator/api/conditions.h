// The types, reasons and texts of TFJob conditions and events.
#pragma once

namespace tensorfleet::api {

inline constexpr char kCreated[] = "Created";
inline constexpr char kRunning[] = "Running";
inline constexpr char kRestarting[] = "Restarting";
inline constexpr char kSucceeded[] = "Succeeded";
inline constexpr char kSuspended[] = "Suspended";
inline constexpr char kFailed[] = "Failed";

inline constexpr char kCreatedReason[] = "TFJobCreated";
inline constexpr char kRunningReason[] = "TFJobRunning";
inline constexpr char kRestartingReason[] = "TFJobRestarting";
inline constexpr char kSucceededReason[] = "TFJobSucceeded";
inline constexpr char kFailedReason[] = "TFJobFailed";
inline constexpr char kSuspendedReason[] = "TFJobSuspended";
inline constexpr char kResumedReason[] = "TFJobResumed";
// The spec can never run; the message has the field's path.
inline constexpr char kFailedValidationReason[] = "TFJobFailedValidation";

inline constexpr char kExitedWithCodeReason[] = "ExitedWithCode";
inline constexpr char kRestartPolicyReason[] = "SetPodTemplateRestartPolicy";
inline constexpr char kSchedulerNameReason[] = "SetPodTemplateSchedulerName";
inline constexpr char kJobTerminatedReason[] = "JobTerminated";
// A pod or service of that name belongs to somebody else.
inline constexpr char kNameTakenReason[] = "NameTaken";
// What the API server said besides when it took an object.
inline constexpr char kApiWarningReason[] = "ApiServerWarning";

}  // namespace tensorfleet::api

// Whether an object is a fault, becomes one, or stops being one (MO-12).

/// The progress of an object that becomes a fault, or stops being one (MO-12).
public enum FaultingState: Sendable, Hashable {
    /// The values are in memory, or the object is in no context.
    case fulfilled
    /// The values have not been used yet.
    case fault
    /// The values are in memory, and `awakeFromFetch` or `awake(fromSnapshotEvents:)` is running.
    case awakening
    /// `willTurnIntoFault` or `didTurnIntoFault` is running.
    case turningIntoFault
}

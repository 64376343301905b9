// The events that replace values of an object without a change by the application (MO-29).

/// The reasons why an object has got other values than those that the application has set (MO-29).
///
/// The numbers are Core Data's.
public struct SnapshotEvents: OptionSet, Sendable, Hashable {
    /// The bits of the events.
    public let rawValue: Int

    /// Makes a set of events from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// An undo or redo has revoked the object's insertion: the object is deleted now.
    public static let undoInsertion = SnapshotEvents(rawValue: 2)
    /// An undo or redo has revoked the object's deletion.
    public static let undoDeletion = SnapshotEvents(rawValue: 4)
    /// An undo or redo has restored former values.
    public static let undoUpdate = SnapshotEvents(rawValue: 8)
    /// `rollback` has restored the committed values.
    public static let rollback = SnapshotEvents(rawValue: 16)
    /// A refresh or a merge has replaced the committed values below unsaved changes.
    public static let refresh = SnapshotEvents(rawValue: 32)
    /// A merge policy has decided a conflict of the object during a save.
    public static let mergePolicy = SnapshotEvents(rawValue: 64)
}

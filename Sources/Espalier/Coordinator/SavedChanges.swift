// What a save tells the other contexts: which objects, by ID only (NT-03).

public import EspalierModel
import Synchronization

/// The objects that one save has written.
public struct SavedChanges: Sendable, Equatable {
    /// Objects that are new in the store.
    public var inserted: [ObjectID]
    /// Objects whose values or relationships have changed.
    public var updated: [ObjectID]
    /// Objects that are gone.
    public var deleted: [ObjectID]
    /// The name of the context that saved.
    public var contextName: String?
}

/// Where saves of other contexts wait until their receiver comes by.
///
/// The coordinator holds it weakly: it ends with the context that subscribed.
final class SaveMailbox: Sendable {
    /// Guards the saves that wait, oldest first.
    private let waiting = Mutex<[SavedChanges]>([])
    private let notice: (@Sendable () -> Void)?

    /// - Parameter notice: called after each delivery, on the thread of the context that saved.
    init(notice: (@Sendable () -> Void)?) { self.notice = notice }

    func deliver(_ changes: SavedChanges) {
        waiting.withLock { $0.append(changes) }
        notice?()
    }

    func takeAll() -> [SavedChanges] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}

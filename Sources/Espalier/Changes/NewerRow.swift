// The newest row of an object in memory, which the object is going to adopt below its changes.

import EspalierModel
import EspalierStore

/// A row that is newer than the one in memory.
struct NewerRow {
    let id: ObjectID
    /// The version of the row in memory; 0 if a save inserts the row, under an ID that it had before.
    let expectedVersion: UInt64
    /// The row that the store has now; `nil` = the row was deleted.
    let stored: ObjectSnapshot?
}

extension NewerRow {
    /// The row of a conflict.
    init(_ conflict: VersionConflict) {
        self.init(id: conflict.id, expectedVersion: conflict.expectedVersion, stored: conflict.stored)
    }

    /// The conflict that a save reports, or lets a policy decide, if the object has changes.
    var conflict: VersionConflict { VersionConflict(id: id, expectedVersion: expectedVersion, stored: stored) }
}

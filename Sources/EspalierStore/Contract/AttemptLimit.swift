// How often a writer that was refused because of newer rows reads them and saves again.
//
// Invariants
//   1. A save does not fail because other writers were faster: only attempts that met no newer row count fully.
//   2. It ends, whatever policies, hooks and other writers do.

internal import EspalierModel

/// Counts the attempts to save, so that a writer which resolves nothing ends with an error.
///
/// Each newer row in conflict means that another save went well: of four contexts that change the same rows all the
/// time, one loses ten times in a row in every eighteenth save.
package struct AttemptLimit {
    private static let idleCountMax = 10
    private static let countMax = 1000
    private var idleCount = 0
    private var count = 0
    /// The version of each row that was in conflict, when it last was; `UInt64.max` if it was deleted.
    private var met: [ObjectID: UInt64] = [:]

    package init() {}

    /// Whether the writer may resolve the conflicts and try again.
    package mutating func allowsAnother(after conflicts: [VersionConflict]) -> Bool {
        var isNewer = false
        for conflict in conflicts {
            let version = conflict.stored?.version ?? .max
            isNewer = met.updateValue(version, forKey: conflict.id) != version || isNewer
        }
        count += 1
        if !isNewer { idleCount += 1 }
        return idleCount < Self.idleCountMax && count < Self.countMax
    }
}

// The order of objects in memory by key paths, which the compiler checks.

import EspalierModel
import FoundationEssentials

extension Sequence where Element: ManagedObject {
    /// The objects in the order of sort keys by key path, the most significant one first, with their unsaved values
    /// (FR-26).
    ///
    /// ```swift
    /// let shown = try album.tracks.sorted(by: [TypedSortKey(\.isPlaying, order: .reverse), TypedSortKey(\.name)])
    /// ```
    ///
    /// The keys may be transient properties, which a fetch refuses (PX-10); only such a key fires faults.
    ///
    /// - Throws: as with names; `ContextError.invalidPredicate`, with `place`, for a key path of a property that is not
    ///   in the model.
    /// - Complexity: O(n log n) for n objects, if their rows are in memory.
    public func sorted(
        by keys: [TypedSortKey<Element>], fileID: String = #fileID, line: Int = #line
    ) throws(ContextError) -> [Element] {
        var names: [SortKey] = []
        for key in keys {
            switch key.namesInMemory {
            case .success(let path):
                let name = path.joined(separator: ".")
                names.append(SortKey(name, ascending: key.order == .forward, options: key.options))
            case .failure(let problem): throw .invalidPredicate(problem.located(in: "sort key", fileID, line))
            }
        }
        return try sorted(by: names)
    }
}

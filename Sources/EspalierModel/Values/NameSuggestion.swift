// "Did you mean ...?": the known name that a mistyped one is closest to.

/// Finds the known name that is nearest to a mistyped one.
package enum NameSuggestion {
    /// The candidate that `name` most probably means; `nil` if none is near.
    ///
    /// A candidate is near if it is equal except for case, or if it differs by at most one edit (insertion, deletion,
    /// replacement, exchange of neighbors) per three characters; one edit is always allowed. Of several equally near
    /// candidates the first is returned.
    ///
    /// - Complexity: O(candidates x length squared); for names of more than 64 characters the result is `nil`.
    package static func nearest(to name: String, among candidates: some Sequence<String>) -> String? {
        guard name.count <= 64 else { return nil }
        let typed = Array(name.lowercased())
        var best: (name: String, distance: Int)?
        for candidate in candidates where candidate != name && candidate.count <= 64 {
            let distance = distance(typed, Array(candidate.lowercased()))
            if distance <= max(1, typed.count / 3), distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.name
    }

    /// The number of edits between two words (optimal string alignment).
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var previous: [Int] = []
        var current = Array(0...right.count)
        for row in 0..<left.count {
            var next = [row + 1]
            for column in 0..<right.count {
                var cost = min(
                    current[column + 1] + 1, next[column] + 1,
                    current[column] + (left[row] == right[column] ? 0 : 1))
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    cost = min(cost, previous[column - 1] + 1)
                }
                next.append(cost)
            }
            (previous, current) = (current, next)
        }
        return current[right.count]
    }
}

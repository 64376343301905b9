// "Did you mean …?": the nearest of the words that would have been right.

/// Finds the word somebody probably meant.
enum Suggestion {
    /// The candidate nearest to `word`, if it is near enough to be worth saying.
    ///
    /// Near enough: at most a third of the longer word's letters differ (at least one may), or `word` begins it.
    static func closest(to word: String, among candidates: [String]) -> String? {
        let folded = word.lowercased()
        let ranked = candidates.map { (name: $0, distance: distance(folded, $0.lowercased())) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        if best.distance <= max(1, max(word.count, best.name.count) / 3) { return best.name }
        guard folded.count >= 3 else { return nil }
        return candidates.first { $0.lowercased().hasPrefix(folded) }
    }

    /// How many letters must be inserted, removed, replaced or swapped with their neighbour to turn one word into the
    /// other (optimal string alignment distance).
    static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left), Array(right))
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for (row, letter) in left.enumerated() {
            var current = [row + 1]
            for (column, other) in right.enumerated() {
                var best = min(last[column + 1], current[column]) + 1
                best = min(best, last[column] + (letter == other ? 0 : 1))
                if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
                    best = min(best, beforeLast[column - 1] + 1)
                }
                current.append(best)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}

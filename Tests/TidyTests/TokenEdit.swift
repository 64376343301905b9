// The difference of two texts in tokens: which tokens an edit keeps, removes and inserts.
//
// Invariants
//   1. The kept tokens are a longest common subsequence of both texts.
//   2. Inserted tokens come before the removed tokens that they replace.

/// An edit from old tokens to new ones.
struct TokenEdit {
    /// For each old token the equal new one; `nil` if the edit removes it.
    private(set) var kept: [Int?] = []
    /// The new tokens that are inserted before each old token, and after the last one.
    private(set) var inserted: [Range<Int>] = []
    /// Whether the edit removes a token and inserts nothing in its place.
    private(set) var isErased: [Bool] = []

    init(from old: [String], to new: [String]) {
        let common = Self.commonLengths(old, new)
        var (row, column, begin) = (0, 0, 0)
        while row < old.count {
            if column < new.count, old[row] != new[column], common[row][column + 1] == common[row][column] {
                column += 1
                continue
            }
            inserted.append(begin..<column)
            let isKept = column < new.count && old[row] == new[column]
            kept.append(isKept ? column : nil)
            if isKept { column += 1 }
            begin = column
            row += 1
        }
        inserted.append(begin..<new.count)
        isErased = old.indices.map { index in
            var first = index
            while first > 0, kept[first - 1] == nil, inserted[first].isEmpty { first -= 1 }
            return kept[index] == nil && inserted[first].isEmpty
        }
    }

    /// The length of the longest common subsequence of each pair of ends of both texts.
    private static func commonLengths(_ old: [String], _ new: [String]) -> [[Int]] {
        var lengths = Array(repeating: Array(repeating: 0, count: new.count + 1), count: old.count + 1)
        for row in old.indices.reversed() {
            for column in new.indices.reversed() {
                lengths[row][column] =
                    old[row] == new[column]
                    ? lengths[row + 1][column + 1] + 1 : max(lengths[row + 1][column], lengths[row][column + 1])
            }
        }
        return lengths
    }
}

// The places of a source that resemble the old text of a patch: each old token beside the token that replaces it.
//
// Invariants
//   1. The partners of an alignment ascend and are tokens of its place.
//   2. An alignment of distance 0 has equal tokens.
//   3. The best alignments come first, and no two of them overlap.

/// A place of a source, and the differences of its tokens from those of an old text.
struct TokenAlignment {
    /// The tokens of the source.
    let place: Range<Int>
    /// For each old token the source's token that stands for it; `nil` if there is none.
    let partners: [Int?]
    /// The weight of the differences.
    ///
    /// A token that only the source has weighs 1; a lost token weighs 1 if it is punctuation, and else 2. Another
    /// spelling weighs 3, once for all tokens that have it, and 1 if the old name is nowhere in the source any more:
    /// this is a renaming, but a statement that uses another name which the source has as well is another statement.
    let distance: Int
    /// The names that the source has changed at each of their places.
    let renamings: [String: String]

    /// An alignment with equal tokens that begins at `start`.
    init(equalTokens count: Int, at start: Int) {
        place = start..<(start + count)
        partners = place.map { $0 }
        distance = 0
        renamings = [:]
    }

    private init(place: Range<Int>, partners: [Int?], old: TokenText, source: TokenText, names: Set<String>) {
        (self.place, self.partners) = (place, partners)
        var spellings: [String: Set<String>] = [:]
        for (index, partner) in partners.enumerated() {
            if let partner { spellings[old.spellings[index], default: []].insert(source.spellings[partner]) }
        }
        var distance = place.count - partners.count { $0 != nil }
        for (token, partner) in zip(old.tokens, partners) where partner == nil {
            distance += token.kind == .mark ? 1 : 2
        }
        var renamings: [String: String] = [:]
        for (before, after) in spellings {
            let changed = after.subtracting([before])
            guard let name = changed.min() else { continue }
            let isConsistent = after.count == 1 && Self.isName(before) && spellings[name] == nil
            if isConsistent { renamings[before] = name }
            distance += isConsistent && !names.contains(before) ? 1 : 3 * changed.count
        }
        (self.distance, self.renamings) = (distance, renamings)
    }

    private static func isName(_ spelling: String) -> Bool { spelling.first.map { $0.isLetter || $0 == "_" } ?? false }

    /// The places of `source` nearest to `old`, at most `count` of them, each with its cheapest alignment.
    ///
    /// The distances of all places come from one table of edit distances, whose first row is 0 everywhere because a
    /// place may begin anywhere. Only the alignments that are read from the table count renamings once.
    static func nearest(to old: TokenText, in source: TokenText, count: Int = 8) -> [TokenAlignment] {
        let table = DistanceTable(old, source)
        let ends = (1..<table.width).sorted { (table.distance(to: $0), $0) < (table.distance(to: $1), $1) }
        var found: [TokenAlignment] = []
        let names = Set(source.spellings)
        for end in ends where table.distance(to: end) < table.distanceMax && found.count < count {
            guard !found.contains(where: { $0.place.contains(end - 1) }) else { continue }
            let (place, partners) = table.alignment(to: end)
            guard !found.contains(where: { $0.place.overlaps(place) }) else { continue }
            found.append(
                TokenAlignment(place: place, partners: partners, old: old, source: source, names: names))
        }
        return found.sorted { $0.distance < $1.distance }
    }
}

/// The edit distances of all beginnings of an old text to all places of a source.
private struct DistanceTable {
    /// The cost of a lost token, of one that only the source has, and of one that replaces another.
    ///
    /// To lose a token costs most, so that a place ends neither before a token with a new name nor before new tokens.
    private static let (loss, addition, replacement): (Int32, Int32, Int32) = (4, 3, 2)

    /// The number of columns: one more than the source has tokens.
    let width: Int
    private let height: Int
    private var distances: [Int32]
    /// Of each token its kind and spelling as a number.
    private let (old, source): ([Token.Kind], [Token.Kind])
    private let (oldNumbers, sourceNumbers): ([Int], [Int])

    init(_ old: TokenText, _ source: TokenText) {
        var numbers: [String: Int] = [:]
        func number(_ spelling: String) -> Int {
            if let number = numbers[spelling] { return number }
            numbers[spelling] = numbers.count
            return numbers.count - 1
        }
        sourceNumbers = source.spellings.map(number)
        oldNumbers = old.spellings.map(number)
        (self.old, self.source) = (old.tokens.map(\.kind), source.tokens.map(\.kind))
        (width, height) = (source.tokens.count + 1, old.tokens.count + 1)
        distances = Array(repeating: 0, count: width * height)
        for row in 1..<height {
            distances[row * width] = Self.loss * Int32(row)
            for column in 1..<width {
                let edited = min(
                    distances[(row - 1) * width + column] + Self.loss,
                    distances[row * width + column - 1] + Self.addition)
                let kept = replacement(row, column).map { distances[(row - 1) * width + column - 1] + $0 }
                distances[row * width + column] = min(edited, kept ?? edited)
            }
        }
    }

    /// The distance of a place that has no token of the old text.
    var distanceMax: Int { Int(Self.loss) * (height - 1) }

    /// The cost of one token in the place of another; `nil` if they are no pair.
    private func replacement(_ row: Int, _ column: Int) -> Int32? {
        if oldNumbers[row - 1] == sourceNumbers[column - 1] { return 0 }
        return old[row - 1] == source[column - 1] && old[row - 1] != .mark ? Self.replacement : nil
    }

    /// The distance of the nearest place that ends before the source's token `end`.
    func distance(to end: Int) -> Int { Int(distances[(height - 1) * width + end]) }

    /// The nearest place that ends before the source's token `end`, and the partners of the old tokens.
    func alignment(to end: Int) -> (Range<Int>, [Int?]) {
        var partners: [Int?] = Array(repeating: nil, count: height - 1)
        var (row, column) = (height - 1, end)
        while row > 0 {
            let distance = distances[row * width + column]
            if column > 0, let cost = replacement(row, column),
                distances[(row - 1) * width + column - 1] + cost == distance
            {
                (row, column) = (row - 1, column - 1)
                partners[row] = column
            } else if distances[(row - 1) * width + column] + Self.loss == distance {
                row -= 1
            } else {
                column -= 1
            }
        }
        return (column..<end, partners)
    }
}

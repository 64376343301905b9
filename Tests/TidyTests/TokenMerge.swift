// The tokens of a place after an edit: a merge of three texts, with the old text of the patch as their base.
//
// Invariants
//   1. A token that the edit keeps has the spelling of the source; one that the source has lost is not restored.
//   2. A token that the edit removes is removed, whatever its spelling in the source.
//   3. A name that the source has changed throughout the place is changed in inserted tokens too.
//   4. White space and comments between two tokens are those of the source if the tokens were neighbours there.

/// The edited tokens of one place of a source.
struct TokenMerge {
    /// A token of the result.
    private struct Piece {
        let spelling: String
        /// The token's index in the source; `nil` if the edit inserts it.
        var sourceIndex: Int?
        /// The token's index in the new text; `nil` if only the source has it.
        var newIndex: Int?
    }

    private let new: TokenText
    private let source: TokenText
    private let place: Range<Int>
    private var pieces: [Piece] = []

    init(_ edit: TokenEdit, at alignment: TokenAlignment, new: TokenText, source: TokenText) {
        (self.new, self.source, place) = (new, source, alignment.place)
        var next = alignment.place.lowerBound
        for (index, partner) in alignment.partners.enumerated() {
            if let partner {
                let extras = next..<partner
                if !Self.removes(extras, before: index, edit, source) { keep(extras) }
                next = partner + 1
            }
            insert(edit.inserted[index], renamings: alignment.renamings)
            if let partner, let kept = edit.kept[index] {
                pieces.append(Piece(spelling: source.spellings[partner], sourceIndex: partner, newIndex: kept))
            }
        }
        insert(edit.inserted[alignment.partners.count], renamings: alignment.renamings)
    }

    /// Whether the tokens that only the source has before an old token go with a token that the edit removes.
    ///
    /// An argument's label belongs to the token after it, other tokens belong to the token before them.
    private static func removes(
        _ extras: Range<Int>, before index: Int, _ edit: TokenEdit, _ source: TokenText
    ) -> Bool {
        guard let last = extras.last, index > 0 else { return false }
        if edit.kept[index - 1] == nil && edit.kept[index] == nil { return true }
        return edit.isErased[source.spellings[last] == ":" ? index : index - 1]
    }

    private mutating func keep(_ tokens: Range<Int>) {
        pieces += tokens.map { Piece(spelling: source.spellings[$0], sourceIndex: $0) }
    }

    private mutating func insert(_ tokens: Range<Int>, renamings: [String: String]) {
        pieces += tokens.map { Piece(spelling: renamings[new.spellings[$0]] ?? new.spellings[$0], newIndex: $0) }
    }

    /// The source after the edit; `nil` if no token of it changes.
    var text: String? {
        guard !pieces.map(\.spelling).elementsEqual(source.spellings[place]) else { return nil }
        let range = source.byteRange(of: place)
        var bytes = Array(source.bytes[..<range.lowerBound])
        for index in pieces.indices {
            append(index == 0 ? [] : space(before: index), Array(pieces[index].spelling.utf8), to: &bytes)
        }
        append([], source.bytes[range.upperBound...], to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func space(before index: Int) -> ArraySlice<UInt8> {
        let (piece, neighbour) = (pieces[index], pieces[index - 1])
        if let place = piece.sourceIndex, neighbour.sourceIndex == place - 1 { return source.space(before: place) }
        if let place = piece.newIndex { return new.space(before: place) }
        return piece.sourceIndex.map(source.space(before:)) ?? []
    }

    /// Appends white space and a token, with a space where two words would become one.
    private func append(_ space: ArraySlice<UInt8>, _ token: some Collection<UInt8>, to bytes: inout [UInt8]) {
        bytes += space
        let isJoined = [bytes.last, token.first].allSatisfy { $0.map(SwiftLexer.isWord) ?? false }
        if isJoined { bytes.append(UInt8(ascii: " ")) }
        bytes += token
    }
}

// "Did you mean …?": the valid word nearest to an invalid one.

import EspalierModel

/// Finds the word that the user probably meant.
enum Suggestion {
    /// The candidate nearest to `word`, if one is near; otherwise the first candidate that begins with `word`.
    static func closest(to word: String, among candidates: [String]) -> String? {
        if let nearest = NameSuggestion.nearest(to: word, among: candidates) { return nearest }
        let beginning = word.lowercased()
        guard beginning.count >= 3 else { return nil }
        return candidates.first { $0.lowercased().hasPrefix(beginning) }
    }
}

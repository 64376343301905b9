// "Did you mean …?": the nearest of the words that would have been right.

import EspalierModel

/// Finds the word somebody probably meant.
enum Suggestion {
    /// The candidate that `word` is a near miss of, else the first one that it begins.
    static func closest(to word: String, among candidates: [String]) -> String? {
        if let nearest = NameSuggestion.nearest(to: word, among: candidates) { return nearest }
        let beginning = word.lowercased()
        guard beginning.count >= 3 else { return nil }
        return candidates.first { $0.lowercased().hasPrefix(beginning) }
    }
}

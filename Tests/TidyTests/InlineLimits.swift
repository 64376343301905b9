// The number of `@inline` attributes that each module may have: a ratchet, which may be turned down only.
//
// Why there are so many: a function of a line or two that reads one field of a page, a row or an object is called
// millions of times for one fetch, and the optimizer leaves calls of it where the caller is large, crosses a module or
// throws a typed error. Why there must not be more: an attribute that nobody measured costs code size and build time,
// and its next reader takes it for a decision. Add one with a measurement (`swift run -c release --package-path
// Benchmarks bench`) in the message of the commit, and take one away that the same measurement does not need.

/// The largest number of `@inline` attributes by module; 0 for a module that is not in the table.
enum InlineLimits {
    static let counts = [
        "EspalierEngine": 211, "EspalierStore": 146, "Espalier": 81, "EspalierModel": 24, "EspalierCoreData": 2,
    ]
}

extension Repository {
    /// The modules with more `@inline` attributes than `limits` allow.
    func inlineFindings(_ limits: [String: Int] = InlineLimits.counts) -> [Finding] {
        var counts: [String: Int] = [:]
        for file in swiftFiles where file.isProduct {
            counts[file.target, default: 0] += zip(file.code, file.code.dropFirst())
                .count { $0.isCode("@") && $1.isCode("inline") }
        }
        return counts.sorted { $0.key < $1.key }.compactMap { module, count in
            let limit = limits[module] ?? 0
            guard count > limit else { return nil }
            return Finding(
                "Sources/\(module)", 0, "\(count) '@inline' attributes, at most \(limit): measure which of them help")
        }
    }
}

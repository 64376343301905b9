// The number of `@inline` attributes that each module may have: a limit may fall, and rises only
// with a reason.
//
// Why there are so many: a function of a line or two that reads one field of a page, a row or an object is called
// millions of times for one fetch, and the optimizer leaves calls of it where the caller is large, crosses a module or
// throws a typed error. Why there must not be more: an attribute that nobody measured costs code size and build time,
// and its next reader takes it for a decision. Add one with a measurement (`swift run -c release --package-path
// Benchmarks bench`) in the message of the commit, and take one away that the same measurement does not need.
//
// The limits were raised once, after a profile of setters, and for the walks that rewrite trees:
//   Espalier, by 4: setters and changes of relationships test a flag for what is rare, which is out of line
//     (`tellListeners` of a context and of an object, `reasonNotToHold`, `align` of `alignMerges`, which is in line
//     itself); an attribute of a table was taken away.
//   EspalierEngine, by 1: `isLong` tests each value that is inserted into a tree or rewritten.
//   EspalierStore, by 1: `soundOffsets` checks each row of a tree that a migration rewrites.

/// The largest number of `@inline` attributes by module; 0 for a module that is not in the table.
enum InlineLimits {
    static let counts = [
        "EspalierEngine": 212, "EspalierStore": 147, "Espalier": 85, "EspalierModel": 24, "EspalierCoreData": 2,
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

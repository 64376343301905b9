// The findings of an audit: the number of the broken rule, the place, and a sentence.
//
// Invariants
//   1. The list of findings has a fixed limit; findings beyond it are only counted.

/// A breach of a rule of the format.
package struct AuditFinding: Hashable, Sendable, CustomStringConvertible {
    /// The place of the offending bytes.
    package enum Place: Hashable, Sendable {
        /// In the newest version of a page, which is in the store file or in the log.
        case page(UInt32, offset: Int)
        /// In the log file.
        case log(offset: UInt64)
        /// In an entry of a tree of an object store; with an empty key, in the tree as a whole.
        case tree(String, key: String)
    }

    /// The number of the rule in the format document.
    package let rule: Int
    /// The place of the breach.
    package let place: Place
    /// A clause that describes the breach.
    package let text: String

    /// The finding as a complete sentence.
    package var description: String {
        switch place {
        case .page(let page, let offset): "Page \(page), byte \(offset), breaks rule \(rule): \(text)."
        case .log(let offset): "The log, at byte \(offset), breaks rule \(rule): \(text)."
        case .tree(let tree, ""): "Tree \"\(tree)\" breaks rule \(rule): \(text)."
        case .tree(let tree, let key): "Tree \"\(tree)\", key \(key), breaks rule \(rule): \(text)."
        }
    }
}

/// The findings of an audit.
package struct AuditFindings: Sendable {
    private static let listCountMax = 1000

    /// The first findings, up to the limit.
    package private(set) var list: [AuditFinding] = []
    /// The number of findings, listed or not.
    package private(set) var count = 0

    mutating func add(_ rule: Int, _ place: AuditFinding.Place, _ text: @autoclosure () -> String) {
        count += 1
        guard list.count < Self.listCountMax else { return }
        list.append(AuditFinding(rule: rule, place: place, text: text()))
    }

    mutating func append(_ others: AuditFindings) {
        count += others.count
        list += others.list.prefix(Self.listCountMax - list.count)
    }
}

/// A broken rule before its place in the store is known; the caller that knows the place makes a finding of it.
struct Breach: Error {
    let rule: Int
    let offset: Int
    let text: String

    init(_ rule: Int, _ offset: Int, _ text: String) { (self.rule, self.offset, self.text) = (rule, offset, text) }
}

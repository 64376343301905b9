// What an audit finds: the number of the broken rule, the place, and a sentence.
//
// Invariants
//   1. However much is wrong, the list stays short; what is beyond it is counted.

/// A broken rule.
package struct AuditFinding: Hashable, Sendable, CustomStringConvertible {
    /// Where the offending bytes are.
    package enum Place: Hashable, Sendable {
        /// In the newest version of a page, which may lie in the store file or in the log.
        case page(UInt32, offset: Int)
        /// In the log file.
        case log(offset: UInt64)
        /// In an entry of a tree of an object store; without a key in the tree as a whole.
        case tree(String, key: String)
    }

    /// The rule's number in the format document.
    package let rule: Int
    /// Where it is broken.
    package let place: Place
    /// A clause that says what is wrong there.
    package let text: String

    /// A complete sentence.
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

    /// The first of them.
    package private(set) var list: [AuditFinding] = []
    /// How many there are, listed or not.
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

/// A rule that bytes break, while it is not yet known to whom to report it.
struct Breach: Error {
    let rule: Int
    let offset: Int
    let text: String

    init(_ rule: Int, _ offset: Int, _ text: String) { (self.rule, self.offset, self.text) = (rule, offset, text) }
}

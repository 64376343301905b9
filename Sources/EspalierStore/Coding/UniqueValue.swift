// A value of a uniqueness constraint, as all stores and contexts compare it.
//
// Invariants
//   1. Values are equal if their order says so, as in the keys of index trees: all NaN are one value, and so are URIs
//      of one text. Swift's `==` tells these apart.
//   2. The values of one property of a constraint are of one kind.

package import EspalierModel
internal import FoundationEssentials

/// A value of a uniqueness constraint; equal if stores hold it for the same.
package struct UniqueValue: Hashable, Sendable {
    /// The value.
    package let value: AttributeValue

    package init(_ value: AttributeValue) { self.value = value }

    package static func == (left: UniqueValue, right: UniqueValue) -> Bool {
        left.value == right.value || left.value.compare(right.value) == .orderedSame
    }

    package func hash(into hasher: inout Hasher) {
        switch value {
        case .double(let number) where number.isNaN: hasher.combine(0)
        case .float(let number) where number.isNaN: hasher.combine(0)
        case .decimal(let number) where number.isNaN: hasher.combine(0)
        case .date(let date) where date.timeIntervalSinceReferenceDate.isNaN: hasher.combine(0)
        case .uri(let uri): hasher.combine(uri.absoluteString)
        default: hasher.combine(value)
        }
    }
}

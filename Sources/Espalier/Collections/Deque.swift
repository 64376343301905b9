// A list that loses elements at both ends: saves that wait, and groups that can be undone.
//
// Invariants
//   1. The places before `head` are empty, all others are in use. An element is released when it is removed.
//   2. After an element was removed at the front, `head` is less than `longCount`, or less than half of the places.

import EspalierModel

/// A list of elements of which the first and the last one can be removed in constant time.
struct Deque<Element>: Sequence {
    /// From this number of empty places on, they are at most half of all.
    private static var longCount: Int { 32 }
    private var places: [Element?] = []
    private var head = 0

    var count: Int { places.count - head }
    var isEmpty: Bool { head == places.count }
    var first: Element? { isEmpty ? nil : places[head] }
    var last: Element? { isEmpty ? nil : places[places.count - 1] }

    mutating func append(_ element: Element) { places.append(element) }

    /// Calls `body` with the first element in place, if there is one.
    mutating func modifyFirst(_ body: (inout Element) -> Void) {
        guard var element = first else { return }
        body(&element)
        places[head] = element
    }

    /// Removes and returns the first element.
    ///
    /// - Complexity: O(1), amortized.
    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let first = places[head]
        places[head] = nil
        head += 1
        if head >= Self.longCount, head * 2 >= places.count {
            assert(StepCount.note(places.count - head))
            places.removeFirst(head)
            head = 0
        }
        return first
    }

    /// Removes and returns the last element.
    ///
    /// - Complexity: O(1).
    mutating func popLast() -> Element? { isEmpty ? nil : places.removeLast() }

    mutating func removeAll() { self = Deque() }

    /// Removes the elements for which `isUnwanted` is true; the others keep their order.
    ///
    /// - Complexity: O(elements).
    mutating func removeAll(where isUnwanted: (Element) -> Bool) {
        var kept = Deque()
        for element in self where !isUnwanted(element) { kept.append(element) }
        self = kept
    }

    func makeIterator() -> Iterator { Iterator(rest: places[head...].makeIterator()) }

    struct Iterator: IteratorProtocol {
        fileprivate var rest: IndexingIterator<ArraySlice<Element?>>

        mutating func next() -> Element? { rest.next() ?? nil }
    }
}

extension Deque: Sendable where Element: Sendable {}

// Intervals of keys.

/// One end of an interval of keys.
public enum KeyBound<Key: Sendable>: Sendable {
    /// The interval does not end on this side.
    case unbounded
    /// The interval ends at this key, which belongs to it.
    case including(Key)
    /// The interval ends at this key, which does not belong to it.
    case excluding(Key)
}

/// An interval of the keys of a tree, possibly empty.
public struct KeyRange<Key: Sendable>: Sendable {
    /// The lower end of the interval.
    public var lower: KeyBound<Key>
    /// The upper end of the interval.
    public var upper: KeyBound<Key>

    /// The keys from `lower` to `upper`; all keys by default.
    public init(from lower: KeyBound<Key> = .unbounded, to upper: KeyBound<Key> = .unbounded) {
        self.lower = lower
        self.upper = upper
    }
}

extension KeyRange where Key == UInt64 {
    /// The keys of a half-open range.
    public init(_ keys: Range<UInt64>) {
        self.init(from: .including(keys.lowerBound), to: .excluding(keys.upperBound))
    }

    /// The keys of a closed range.
    public init(_ keys: ClosedRange<UInt64>) {
        self.init(from: .including(keys.lowerBound), to: .including(keys.upperBound))
    }

    /// The first key of the interval and the first key after it (`nil` if none); `nil` for an empty interval.
    var limits: (low: UInt64, end: UInt64?)? {
        var low: UInt64 = 0
        switch lower {
        case .unbounded: break
        case .including(let key): low = key
        case .excluding(.max): return nil
        case .excluding(let key): low = key + 1
        }
        switch upper {
        case .unbounded, .including(.max): return (low, nil)
        case .including(let key): return key < low ? nil : (low, key + 1)
        case .excluding(let key): return key <= low ? nil : (low, key)
        }
    }
}

extension KeyRange where Key == [UInt8] {
    /// The keys that begin with `prefix`.
    public init(prefix: [UInt8]) {
        var end = prefix
        while end.last == .max { end.removeLast() }
        self.init(from: .including(prefix))
        guard let last = end.popLast() else { return }
        upper = .excluding(end + [last + 1])
    }

    /// The first possible key of the interval and the first key after it (`nil` if none); `nil` for an empty interval.
    var limits: (low: [UInt8], end: [UInt8]?)? {
        // The successor of a key is that key followed by a zero byte.
        let low =
            switch lower {
            case .unbounded: [UInt8]()
            case .including(let key): key
            case .excluding(let key): key + [0]
            }
        let end: [UInt8]? =
            switch upper {
            case .unbounded: nil
            case .including(let key): key + [0]
            case .excluding(let key): key
            }
        if let end, !low.lexicographicallyPrecedes(end) { return nil }
        return (low, end)
    }
}

// Lookups whose keys are arrays or numbers. The engine's own calls take bytes that live as long as the call.

internal import EspalierEngine

extension Lookup where Key == [UInt8] {
    /// Calls `body` with the entries from `key` on, in place if they are in a leaf, until it returns `false`.
    @inline(__always)
    mutating func forEach(
        from key: [UInt8], _ body: (_ key: RawSpan, _ value: RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
        // SAFETY: the array outlives the call.
        unsafe try forEachEntry(from: key.span.bytes, body)
    }

    /// Skips whole leaves from `key` on as long as `skipping` returns `true`, then calls `body` with the other entries,
    /// in place if they are in a leaf, until it returns `false`.
    ///
    /// - Parameter skipping: whether to skip the next `count` entries, of which it gets only the last one.
    @inline(__always)
    mutating func forEach(
        from key: [UInt8], skipping: (_ count: Int, _ lastKey: RawSpan, _ lastValue: RawSpan) -> Bool,
        _ body: (_ key: RawSpan, _ value: RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
        // SAFETY: the array outlives the call.
        unsafe try forEachEntry(from: key.span.bytes, skipping: skipping, body)
    }

    /// Calls `body` with the entries from the big-endian bytes of `number` on, in place if they are in a leaf, until it
    /// returns `false`.
    @inline(__always)
    mutating func forEach(
        fromBigEndian number: UInt64, _ body: (_ key: RawSpan, _ value: RawSpan) throws(StoreError) -> Bool
    ) throws(StoreError) {
        var bytes = number.bigEndian
        // SAFETY: the number outlives the call.
        try unsafe withUnsafeBytes(of: &bytes) { bytes throws(StoreError) in
            unsafe try forEachEntry(from: bytes.bytes, body)
        }
    }
}

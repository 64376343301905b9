// The part of XXH3-64 for inputs over 240 bytes: eight lanes of 64 bits over stripes of 64 bytes.
//
// Invariants
//   1. Lane i of the specification's accumulator is `products[i] + sums[i ^ 1]`: the neighbor's sum is added once per
//      block instead of once per stripe, which is the same because addition commutes.
// In an optimised build eight lanes are one SIMD value, whose multiplication becomes `pmuludq`. An unoptimised build
// calls a function for each SIMD operation, so there the lanes are plain integers.

/// XXH3-64 of more than 240 bytes.
package enum LongChecksum {
    @inline(__always)
    static func of(_ bytes: ByteString, seed: UInt64) -> UInt64 { of(bytes, seed: seed, lanes: StripeLanes()) }

    /// The hash of `bytes` (more than 240), computed with one of the two kernels.
    package static func of(_ bytes: ByteString, seed: UInt64, lanes: some ChecksumLanes) -> UInt64 {
        // A greater alignment than the stack's would need heap memory: see Decisions, "The secret of a checksum".
        // SAFETY: the memory is initialized by `deriveSecret` before it is read, and used only within the closure.
        assert(bytes.count > 240, "\(bytes.count) bytes")
        return unsafe withUnsafeTemporaryAllocation(byteCount: 8 * Secret.wordCount, alignment: 16) { memory in
            let secret = unsafe PageView(base: memory.baseAddress.unsafelyUnwrapped, byteCount: memory.count)
            deriveSecret(secret, seed)
            return hash(bytes, secret, lanes)
        }
    }

    @inline(__always)
    private static func deriveSecret(_ secret: PageView, _ seed: UInt64) {
        for pair in 0..<Secret.wordCount / 2 {
            secret.set(Secret.word(2 &* pair) &+ seed, at: 16 &* pair)
            secret.set(Secret.word(2 &* pair &+ 1) &- seed, at: 16 &* pair &+ 8)
        }
    }

    @inline(__always)
    private static func hash(_ bytes: ByteString, _ secret: PageView, _ start: some ChecksumLanes) -> UInt64 {
        let stripeByteCount = 64
        let stripesPerBlock = 16
        var lanes = start
        // The last stripe is the last 64 bytes, even if it overlaps the one before.
        var offset = 0
        var stripe = 0
        while offset &+ stripeByteCount < bytes.count {
            lanes.accumulate(bytes, offset, secret, 8 &* stripe)
            offset &+= stripeByteCount
            stripe &+= 1
            if stripe == stripesPerBlock {
                lanes.scramble(secret, 128)
                stripe = 0
            }
        }
        assert(
            offset < bytes.count && offset &+ stripeByteCount >= bytes.count,
            "other bytes than the last stripe are left")
        lanes.accumulate(bytes, bytes.count &- stripeByteCount, secret, 121)
        return lanes.merged(secret, 11, start: UInt64(bytes.count) &* Prime.wide1)
    }
}

/// The eight accumulating lanes.
package protocol ChecksumLanes {
    /// Mixes the 64 bytes at `offset` with the 64 bytes of secret at `secretOffset` into the lanes.
    mutating func accumulate(_ bytes: ByteString, _ offset: Int, _ secret: PageView, _ secretOffset: Int)
    /// Ends a block of 16 stripes.
    mutating func scramble(_ secret: PageView, _ secretOffset: Int)
    /// The lanes folded into one hash.
    mutating func merged(_ secret: PageView, _ secretOffset: Int, start: UInt64) -> UInt64
}

#if DEBUG
    typealias StripeLanes = ScalarLanes
#else
    typealias StripeLanes = VectorLanes
#endif

/// The accumulator as two SIMD values.
package struct VectorLanes: ChecksumLanes {
    /// The specification's initial state.
    package init() {}

    private var products = SIMD8<UInt64>(
        Prime.narrow3, Prime.wide1, Prime.wide2, Prime.wide3, Prime.wide4, Prime.narrow2, Prime.wide5, Prime.narrow1)
    private var sums = SIMD8<UInt64>()

    @inline(__always)
    private func load(_ bytes: ByteString, _ offset: Int) -> SIMD8<UInt64> {
        assert(offset >= 0 && offset + 64 <= bytes.count)
        // SAFETY: in bounds by the loop of `LongChecksum.hash`.
        let vector = unsafe bytes.base.loadUnaligned(fromByteOffset: offset, as: SIMD8<UInt64>.self)
        #if _endian(big)
            var swapped = vector
            for lane in 0..<8 { swapped[lane] = vector[lane].byteSwapped }
            return swapped
        #else
            return vector
        #endif
    }

    @inline(__always)
    package mutating func accumulate(_ bytes: ByteString, _ offset: Int, _ secret: PageView, _ secretOffset: Int) {
        let input = load(bytes, offset)
        let keyed = input ^ load(secret.bytes(0, secret.byteCount), secretOffset)
        products &+= (keyed & 0xFFFF_FFFF) &* (keyed &>> 32)
        sums &+= input
    }

    /// Moves the sums to their neighbors' lanes.
    @inline(__always)
    private mutating func settle() {
        var swapped = SIMD8<UInt64>()
        swapped.evenHalf = sums.oddHalf
        swapped.oddHalf = sums.evenHalf
        products &+= swapped
        sums = SIMD8()
    }

    @inline(__always)
    package mutating func scramble(_ secret: PageView, _ secretOffset: Int) {
        settle()
        products ^= products &>> 47
        products ^= load(secret.bytes(0, secret.byteCount), secretOffset)
        products = products &* Prime.narrow1
    }

    @inline(__always)
    package mutating func merged(_ secret: PageView, _ secretOffset: Int, start: UInt64) -> UInt64 {
        settle()
        var hash = start
        for lane in stride(from: 0, to: 8, by: 2) {
            hash &+= Checksum.foldedProduct(
                products[lane] ^ secret.u64(secretOffset &+ 8 &* lane),
                products[lane &+ 1] ^ secret.u64(secretOffset &+ 8 &* lane &+ 8))
        }
        return Checksum.avalanche(hash)
    }
}

/// The accumulator as plain integers, two lanes at a time: the same results, for unoptimised builds.
package struct ScalarLanes: ChecksumLanes {
    /// The specification's initial state.
    package init() {}

    private var lanes: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (
        Prime.narrow3, Prime.wide1, Prime.wide2, Prime.wide3, Prime.wide4, Prime.narrow2, Prime.wide5, Prime.narrow1
    )

    package mutating func accumulate(_ bytes: ByteString, _ offset: Int, _ secret: PageView, _ secretOffset: Int) {
        assert(offset >= 0 && offset + 64 <= bytes.count && secretOffset + 64 <= secret.byteCount)
        // SAFETY: in bounds by the loop of `LongChecksum.hash`.
        let input = unsafe bytes.base + offset
        let key = unsafe UnsafeRawPointer(secret.base) + secretOffset
        unsafe Self.accumulate(&lanes.0, &lanes.1, input, key)
        unsafe Self.accumulate(&lanes.2, &lanes.3, input + 16, key + 16)
        unsafe Self.accumulate(&lanes.4, &lanes.5, input + 32, key + 32)
        unsafe Self.accumulate(&lanes.6, &lanes.7, input + 48, key + 48)
    }

    private static func accumulate(
        _ a: inout UInt64, _ b: inout UInt64, _ input: UnsafeRawPointer, _ key: UnsafeRawPointer
    ) {
        // SAFETY: the caller made sure that 16 bytes can be read from both.
        let x = unsafe UInt64(littleEndian: input.loadUnaligned(as: UInt64.self))
        let y = unsafe UInt64(littleEndian: input.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        let keyedX = unsafe x ^ UInt64(littleEndian: key.loadUnaligned(as: UInt64.self))
        let keyedY = unsafe y ^ UInt64(littleEndian: key.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        a = a &+ y &+ (keyedX & 0xFFFF_FFFF) &* (keyedX &>> 32)
        b = b &+ x &+ (keyedY & 0xFFFF_FFFF) &* (keyedY &>> 32)
    }

    package mutating func scramble(_ secret: PageView, _ secretOffset: Int) {
        func scrambled(_ lane: UInt64, _ index: Int) -> UInt64 {
            (lane ^ lane &>> 47 ^ secret.u64(secretOffset &+ 8 &* index)) &* Prime.narrow1
        }
        lanes = (
            scrambled(lanes.0, 0), scrambled(lanes.1, 1), scrambled(lanes.2, 2), scrambled(lanes.3, 3),
            scrambled(lanes.4, 4), scrambled(lanes.5, 5), scrambled(lanes.6, 6), scrambled(lanes.7, 7)
        )
    }

    package mutating func merged(_ secret: PageView, _ secretOffset: Int, start: UInt64) -> UInt64 {
        func product(_ a: UInt64, _ b: UInt64, _ index: Int) -> UInt64 {
            Checksum.foldedProduct(
                a ^ secret.u64(secretOffset &+ 8 &* index), b ^ secret.u64(secretOffset &+ 8 &* index &+ 8))
        }
        return Checksum.avalanche(
            start &+ product(lanes.0, lanes.1, 0) &+ product(lanes.2, lanes.3, 2) &+ product(lanes.4, lanes.5, 4)
                &+ product(lanes.6, lanes.7, 6))
    }
}

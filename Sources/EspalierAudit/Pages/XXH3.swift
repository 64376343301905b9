// XXH3 with 64 bits, written from the public specification of the xxHash project without manual vectorization.

/// The hash of the format.
enum XXH3 {
    private static let prime32: [UInt64] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D]
    private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
    private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
    private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5
    private static let stripe = 64

    /// The hash of `bytes` from offset `start` up to `end`.
    static func hash(_ bytes: [UInt8], from start: Int = 0, to end: Int? = nil, seed: UInt64 = 0) -> UInt64 {
        let end = min(end ?? bytes.count, bytes.count)
        let count = max(0, end - start)
        switch count {
        case 0: return avalanche64(seed ^ secret.u64(56) ^ secret.u64(64))
        case 1...3: return upTo3(bytes, start, count, seed)
        case 4...8: return upTo8(bytes, start, count, seed)
        case 9...16: return upTo16(bytes, start, count, seed)
        case 17...128: return upTo128(bytes, start, count, seed)
        case 129...240: return upTo240(bytes, start, count, seed)
        default: return long(bytes, start, count, seed)
        }
    }

    // MARK: Short inputs

    private static func upTo3(_ bytes: [UInt8], _ start: Int, _ count: Int, _ seed: UInt64) -> UInt64 {
        let (first, middle) = (UInt64(bytes.u8(start)), UInt64(bytes.u8(start + count / 2)))
        let last = UInt64(bytes.u8(start + count - 1))
        let combined = first << 16 | middle << 24 | last | UInt64(count) << 8
        let flip = UInt64(secret.u32(0) ^ secret.u32(4)) &+ seed
        return avalanche64(combined ^ flip)
    }

    private static func upTo8(_ bytes: [UInt8], _ start: Int, _ count: Int, _ seed: UInt64) -> UInt64 {
        let mixedSeed = seed ^ UInt64(UInt32(truncatingIfNeeded: seed).byteSwapped) << 32
        let (first, last) = (UInt64(bytes.u32(start)), UInt64(bytes.u32(start + count - 4)))
        let flip = (secret.u64(8) ^ secret.u64(16)) &- mixedSeed
        var hash = (last &+ first << 32) ^ flip
        hash ^= rotated(hash, 49) ^ rotated(hash, 24)
        hash &*= 0x9FB2_1C65_1E98_DF25
        hash ^= (hash >> 35) &+ UInt64(count)
        hash &*= 0x9FB2_1C65_1E98_DF25
        return hash ^ hash >> 28
    }

    private static func upTo16(_ bytes: [UInt8], _ start: Int, _ count: Int, _ seed: UInt64) -> UInt64 {
        let low = bytes.u64(start) ^ ((secret.u64(24) ^ secret.u64(32)) &+ seed)
        let high = bytes.u64(start + count - 8) ^ ((secret.u64(40) ^ secret.u64(48)) &- seed)
        return avalanche(UInt64(count) &+ low.byteSwapped &+ high &+ folded(low, high))
    }

    private static func upTo128(_ bytes: [UInt8], _ start: Int, _ count: Int, _ seed: UInt64) -> UInt64 {
        var sum = UInt64(count) &* prime1
        // Pairs of 16 bytes from both ends toward the middle.
        for pair in (0...(count - 1) / 32).reversed() {
            sum &+= mixed16(bytes, start + 16 * pair, 32 * pair, seed)
            sum &+= mixed16(bytes, start + count - 16 * (pair + 1), 32 * pair + 16, seed)
        }
        return avalanche(sum)
    }

    private static func upTo240(_ bytes: [UInt8], _ start: Int, _ count: Int, _ seed: UInt64) -> UInt64 {
        var sum = UInt64(count) &* prime1
        for block in 0..<8 { sum &+= mixed16(bytes, start + 16 * block, 16 * block, seed) }
        sum = avalanche(sum)
        for block in 8..<count / 16 { sum &+= mixed16(bytes, start + 16 * block, 16 * (block - 8) + 3, seed) }
        sum &+= mixed16(bytes, start + count - 16, 136 - 17, seed)
        return avalanche(sum)
    }

    private static func mixed16(_ bytes: [UInt8], _ offset: Int, _ key: Int, _ seed: UInt64) -> UInt64 {
        folded(
            bytes.u64(offset) ^ (secret.u64(key) &+ seed), bytes.u64(offset + 8) ^ (secret.u64(key + 8) &- seed))
    }

    // MARK: Long inputs

    private static func long(_ bytes: [UInt8], _ start: Int, _ count: Int, _ seed: UInt64) -> UInt64 {
        let keys = seed == 0 ? secret : derivedSecret(seed)
        var lanes: SIMD8<UInt64> = [prime32[2], prime1, prime2, prime3, prime4, prime32[1], prime5, prime32[0]]
        let stripesPerBlock = (keys.count - stripe) / 8
        for index in 0..<(count - 1) / stripe {
            let inBlock = index % stripesPerBlock
            accumulate(&lanes, bytes.eightWords(start + stripe * index), keys.eightWords(8 * inBlock))
            if inBlock == stripesPerBlock - 1 {
                lanes = (lanes ^ (lanes &>> 47) ^ keys.eightWords(keys.count - stripe)) &* prime32[0]
            }
        }
        accumulate(
            &lanes, bytes.eightWords(start + count - stripe), keys.eightWords(keys.count - stripe - 7))
        var sum = UInt64(count) &* prime1
        for pair in 0..<4 {
            sum &+= folded(
                lanes[2 * pair] ^ keys.u64(11 + 16 * pair), lanes[2 * pair + 1] ^ keys.u64(11 + 16 * pair + 8))
        }
        return avalanche(sum)
    }

    private static func accumulate(
        _ lanes: inout SIMD8<UInt64>, _ value: SIMD8<UInt64>, _ keys: SIMD8<UInt64>
    ) {
        let keyed = value ^ keys
        // Each word is added unchanged to the neighboring lane.
        let swapped = SIMD8(lowHalf: neighbors(value.lowHalf), highHalf: neighbors(value.highHalf))
        lanes &+= swapped &+ (keyed & 0xFFFF_FFFF) &* (keyed &>> 32)
    }

    private static func neighbors(_ words: SIMD4<UInt64>) -> SIMD4<UInt64> {
        SIMD4(words.y, words.x, words.w, words.z)
    }

    /// The secret for long inputs with a seed, derived from the default secret.
    private static func derivedSecret(_ seed: UInt64) -> [UInt8] {
        var derived: [UInt8] = []
        for offset in stride(from: 0, to: secret.count, by: 16) {
            for value in [secret.u64(offset) &+ seed, secret.u64(offset + 8) &- seed] {
                derived += (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
            }
        }
        return derived
    }

    // MARK: Mixing

    private static func rotated(_ value: UInt64, _ count: Int) -> UInt64 { value << count | value >> (64 - count) }

    private static func folded(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.low ^ product.high
    }

    private static func avalanche(_ value: UInt64) -> UInt64 {
        let mixed = (value ^ value >> 37) &* 0x1656_6791_9E37_79F9
        return mixed ^ mixed >> 32
    }

    private static func avalanche64(_ value: UInt64) -> UInt64 {
        var mixed = (value ^ value >> 33) &* prime2
        mixed = (mixed ^ mixed >> 29) &* prime3
        return mixed ^ mixed >> 32
    }

    /// The default secret of the specification, 192 bytes.
    private static let secret: [UInt8] = [
        0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
        0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
        0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
        0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
        0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
        0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
        0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
        0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
        0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
        0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
        0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
        0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
    ]
}

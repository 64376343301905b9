// Checksums of everything that is stored: XXH3-64 (public specification by Yann Collet), in pure Swift.
//
// Invariants
//   1. The results are those of the reference implementation for every length and seed (tests hold its vectors).
//   2. It reads no byte outside the input and allocates nothing; inputs over 240 bytes use 192 bytes of stack.
// It detects damage; it does not protect against a forged page.

/// XXH3-64.
package enum Checksum {
    /// The checksum of `page` as page `number` of the store with hash seed `storeSeed`.
    @inline(__always)
    package static func page(_ page: PageView, number: PageNumber, storeSeed: UInt64) -> UInt64 {
        of(
            page.bytes(PageLayout.number, page.byteCount &- PageLayout.number),
            seed: storeSeed ^ (UInt64(number) &* Prime.wide1))
    }

    /// The XXH3-64 of `buffer`.
    package static func of(_ buffer: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        // SAFETY: the caller keeps the bytes alive during this call.
        unsafe of(ByteString(buffer), seed: seed)
    }

    /// The XXH3-64 of `bytes`.
    package static func of(_ bytes: ByteString, seed: UInt64 = 0) -> UInt64 {
        switch bytes.count {
        case 0...16: upTo16(bytes, seed)
        case 17...128: upTo128(bytes, seed)
        case 129...240: upTo240(bytes, seed)
        default: LongChecksum.of(bytes, seed: seed)
        }
    }

    // MARK: - Up to 240 bytes

    private static func upTo16(_ bytes: ByteString, _ seed: UInt64) -> UInt64 {
        assert(bytes.count <= 16, "\(bytes.count) bytes")
        let count = bytes.count
        if count > 8 {
            let low = bytes.word64(0) ^ ((Secret.word(3) ^ Secret.word(4)) &+ seed)
            let high = bytes.word64(count &- 8) ^ ((Secret.word(5) ^ Secret.word(6)) &- seed)
            return avalanche(UInt64(count) &+ low.byteSwapped &+ high &+ foldedProduct(low, high))
        }
        if count >= 4 {
            let mixed = seed ^ UInt64(UInt32(truncatingIfNeeded: seed).byteSwapped) << 32
            let flip = (Secret.word(1) ^ Secret.word(2)) &- mixed
            let keyed = (UInt64(bytes.word32(count &- 4)) &+ UInt64(bytes.word32(0)) << 32) ^ flip
            return strongAvalanche(keyed, count)
        }
        if count > 0 {
            let combined =
                UInt32(bytes[0]) << 16 | UInt32(bytes[count >> 1]) << 24 | UInt32(bytes[count &- 1])
                | UInt32(count) << 8
            let flip = UInt64(UInt32(truncatingIfNeeded: Secret.word(0)) ^ UInt32(Secret.word(0) >> 32)) &+ seed
            return oldAvalanche(UInt64(combined) ^ flip)
        }
        return oldAvalanche(seed ^ Secret.word(7) ^ Secret.word(8))
    }

    private static func upTo128(_ bytes: ByteString, _ seed: UInt64) -> UInt64 {
        assert(bytes.count > 16 && bytes.count <= 128, "\(bytes.count) bytes")
        let count = bytes.count
        var sum = UInt64(count) &* Prime.wide1
        // From the outside inwards: pair k is the k-th 16 bytes from the front and from the back.
        for pair in 0...(count &- 1) / 32 {
            sum &+= mix16(bytes, 16 &* pair, Secret.word(4 &* pair), Secret.word(4 &* pair &+ 1), seed)
            sum &+= mix16(
                bytes, count &- 16 &* (pair &+ 1), Secret.word(4 &* pair &+ 2), Secret.word(4 &* pair &+ 3), seed)
        }
        return avalanche(sum)
    }

    private static func upTo240(_ bytes: ByteString, _ seed: UInt64) -> UInt64 {
        assert(bytes.count > 128 && bytes.count <= 240, "\(bytes.count) bytes")
        let count = bytes.count
        var sum = UInt64(count) &* Prime.wide1
        for index in 0..<8 {
            sum &+= mix16(bytes, 16 &* index, Secret.word(2 &* index), Secret.word(2 &* index &+ 1), seed)
        }
        sum = avalanche(sum)
        for index in 8..<count / 16 {
            // The reference reads the secret here at byte 16 x (index - 8) + 3.
            let word = 2 &* (index &- 8)
            sum &+= mix16(bytes, 16 &* index, Secret.shifted(word, by: 3), Secret.shifted(word &+ 1, by: 3), seed)
        }
        // Byte 119 of the secret.
        sum &+= mix16(bytes, count &- 16, Secret.shifted(14, by: 7), Secret.shifted(15, by: 7), seed)
        return avalanche(sum)
    }

    @inline(__always)
    private static func mix16(_ bytes: ByteString, _ offset: Int, _ low: UInt64, _ high: UInt64, _ seed: UInt64)
        -> UInt64
    {
        foldedProduct(bytes.word64(offset) ^ (low &+ seed), bytes.word64(offset &+ 8) ^ (high &- seed))
    }

    // MARK: - Mixing

    @inline(__always)
    static func foldedProduct(_ a: UInt64, _ b: UInt64) -> UInt64 {
        let product = a.multipliedFullWidth(by: b)
        return product.high ^ product.low
    }

    @inline(__always)
    static func avalanche(_ value: UInt64) -> UInt64 {
        var hash = (value ^ value >> 37) &* 0x1656_6791_9E37_79F9
        hash ^= hash >> 32
        return hash
    }

    private static func strongAvalanche(_ value: UInt64, _ count: Int) -> UInt64 {
        assert(count >= 4 && count <= 8, "\(count) bytes")
        var hash = value ^ (value << 49 | value >> 15) ^ (value << 24 | value >> 40)
        hash = hash &* 0x9FB2_1C65_1E98_DF25
        hash ^= (hash >> 35) &+ UInt64(count)
        hash = hash &* 0x9FB2_1C65_1E98_DF25
        return hash ^ hash >> 28
    }

    private static func oldAvalanche(_ value: UInt64) -> UInt64 {
        var hash = (value ^ value >> 33) &* Prime.wide2
        hash = (hash ^ hash >> 29) &* Prime.wide3
        return hash ^ hash >> 32
    }
}

/// The primes of the specification.
enum Prime {
    static var narrow1: UInt64 { 0x9E37_79B1 }
    static var narrow2: UInt64 { 0x85EB_CA77 }
    static var narrow3: UInt64 { 0xC2B2_AE3D }
    static var wide1: UInt64 { 0x9E37_79B1_85EB_CA87 }
    static var wide2: UInt64 { 0xC2B2_AE3D_27D4_EB4F }
    static var wide3: UInt64 { 0x1656_67B1_9E37_79F9 }
    static var wide4: UInt64 { 0x85EB_CA77_C2B2_AE63 }
    static var wide5: UInt64 { 0x27D4_EB2F_1656_67C5 }
}

/// The 192 bytes of the specification's default secret, as 24 little-endian words.
enum Secret {
    static let wordCount = 24

    /// Word `index` of the secret.
    ///
    /// A switch over constants needs no initialization of a global and no bounds check of an array.
    @inline(__always)
    static func word(_ index: Int) -> UInt64 {
        switch index {
        case 0: 0xBE4B_A423_396C_FEB8
        case 1: 0x1CAD_21F7_2C81_017C
        case 2: 0xDB97_9083_E96D_D4DE
        case 3: 0x1F67_B3B7_A4A4_4072
        case 4: 0x78E5_C0CC_4EE6_79CB
        case 5: 0x2172_FFCC_7DD0_5A82
        case 6: 0x8E24_43F7_7446_08B8
        case 7: 0x4C26_3A81_E690_35E0
        case 8: 0xCB00_C391_BB52_283C
        case 9: 0xA32E_531B_8B65_D088
        case 10: 0x4EF9_0DA2_9748_6471
        case 11: 0xD8AC_DEA9_46EF_1938
        case 12: 0x3F34_9CE3_3F76_FAA8
        case 13: 0x1D4F_0BC7_C7BB_DCF9
        case 14: 0x3159_B4CD_4BE0_518A
        case 15: 0x6473_78D9_C97E_9FC8
        case 16: 0xC3EB_D334_83AC_C5EA
        case 17: 0xEB63_13FA_FFA0_81C5
        case 18: 0x49DA_F0B7_51DD_0D17
        case 19: 0x9E68_D429_2655_16D3
        case 20: 0xFCA1_477D_58BE_162B
        case 21: 0xCE31_D07A_D1B8_F88F
        case 22: 0x2804_1695_8F3A_CB45
        case 23: 0x7E40_4BBB_CAFB_D7AF
        default: 0
        }
    }

    /// The eight bytes that begin `byteCount` (1...7) after word `index`.
    @inline(__always)
    static func shifted(_ index: Int, by byteCount: UInt64) -> UInt64 {
        word(index) >> (8 &* byteCount) | word(index &+ 1) << (64 &- 8 &* byteCount)
    }
}

extension ByteString {
    /// The little-endian 32-bit word at `offset`.
    @inline(__always)
    func word32(_ offset: Int) -> UInt32 {
        assert(offset >= 0 && offset + 4 <= count)
        // SAFETY: in bounds by the callers' case distinctions on `count`.
        return unsafe UInt32(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    /// The little-endian 64-bit word at `offset`.
    @inline(__always)
    func word64(_ offset: Int) -> UInt64 {
        assert(offset >= 0 && offset + 8 <= count)
        // SAFETY: in bounds by the callers' case distinctions on `count`.
        return unsafe UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

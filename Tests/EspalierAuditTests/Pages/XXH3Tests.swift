// The audit's own hash, compared with values of the reference implementation.

import Testing

@testable import EspalierAudit

@Suite struct XXH3Tests {
    /// The hashes of the reference implementation with seed 0 and with seed 0x9E3779B185EBCA87; byte i is 7 i + 3.
    private static let references: [(count: Int, plain: UInt64, seeded: UInt64)] = [
        (0, 0x2d06_8005_38d3_94c2, 0x07f7_0f81_9703_314d), (1, 0x13e6_08bc_156d_efed, 0x14db_1e52_520a_6753),
        (3, 0xa908_8dda_485b_481c, 0x9dd5_0398_68f3_6558), (4, 0x6d92_53b1_6c8b_1ed3, 0x8e87_6c1f_4b33_5e09),
        (8, 0x6053_9db6_3047_1163, 0xc4fb_19fc_0dbb_d083), (9, 0xfeff_6683_61d7_23a8, 0x1425_faf3_aa71_930f),
        (16, 0xb8c8_59b0_f030_b585, 0x4d57_8df2_9601_4ea1), (17, 0x714a_0440_8e79_b80f, 0x5d99_b78d_0339_af98),
        (128, 0x6742_5a03_6502_61bf, 0xe439_14aa_381a_e74f), (129, 0xc664_bf33_11c6_abc4, 0xe15b_1485_cb21_dc56),
        (240, 0x6455_6dc6_b462_a6cf, 0xb54d_7f21_9360_3f7d), (241, 0x8bea_dd3a_8874_fe17, 0xbc1f_a92d_f539_d98e),
        (504, 0xafea_834f_8be1_6c61, 0x77c2_b076_d249_23df), (1024, 0x9b81_661c_641c_72b1, 0xeda9_fef6_68a1_2040),
        (4088, 0xa2fb_11a8_0f3c_1954, 0xc1b1_7d75_952e_fc8b),
    ]

    @Test(arguments: references.map(\.count))
    func `a hash is that of the reference implementation`(count: Int) throws {
        let reference = try #require(Self.references.first { $0.count == count })
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: 7 * $0 + 3) }

        #expect(XXH3.hash(bytes) == reference.plain)
        #expect(XXH3.hash([1, 2] + bytes, from: 2, seed: 0x9E37_79B1_85EB_CA87) == reference.seeded)
    }
}

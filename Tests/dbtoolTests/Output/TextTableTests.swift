// Tables and numbers in the output for people: widths, alignment, escapes.

import Testing

@testable import dbtool

@Suite struct TextTableTests {
    @Test func `columns are as wide as their widest cell, numbers stand to the right`() {
        var table = TextTable([.text("name"), .number("seconds"), .text("album")])
        table.append(["Balls to the Wall", "342", "Balls"])
        table.append(["Ü", "1,234", ""])

        #expect(
            table.rendered() == """
                name               seconds  album
                -----------------  -------  -----
                Balls to the Wall      342  Balls
                Ü                    1,234

                """)
    }

    @Test func `wide letters count twice and combining marks not at all`() {
        #expect(DisplayText.width(of: "日本") == 4)
        #expect(DisplayText.width(of: "e\u{301}") == 1)
        #expect(DisplayText.width(of: "Ａ") == 2)
        #expect(DisplayText.width(of: "😀") == 2)
        #expect(DisplayText.width(of: "naïve") == 5)
        #expect(DisplayText.width(of: "") == 0)
    }

    @Test func `a cell cannot break its line or steer the terminal`() {
        var table = TextTable([.text("a"), .text("b", widthMax: 4)])
        table.append(["x\ny\u{1B}[2J", "abcdef"])

        #expect(
            table.rendered() == """
                a              b
                -------------  ----
                x\\ny\\u{1b}[2J  abc…

                """)
    }

    @Test func `numbers are written for people`() {
        #expect(DisplayText.grouped(0) == "0")
        #expect(DisplayText.grouped(999) == "999")
        #expect(DisplayText.grouped(15_607) == "15,607")
        #expect(DisplayText.grouped(Int64.min) == "-9,223,372,036,854,775,808")
        #expect(DisplayText.bytes(1023) == "1,023 bytes")
        #expect(DisplayText.bytes(4096) == "4.0 KiB")
        #expect(DisplayText.bytes(1_887_437) == "1.8 MiB")
        #expect(DisplayText.fixed(2.125, digits: 2) == "2.13")
        #expect(DisplayText.fixed(-0.05, digits: 1) == "-0.1")
        #expect(DisplayText.fixed(12, digits: 3) == "12.000")
        #expect(DisplayText.time(.microseconds(812)) == "812 µs")
        #expect(DisplayText.time(.microseconds(12_340)) == "12.3 ms")
        #expect(DisplayText.time(.milliseconds(2_410)) == "2.41 s")
    }
}

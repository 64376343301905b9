// The vocabularies define each word once.

import Testing

@Suite struct VocabularyTests {
    @Test func `no article defines a term twice`() {
        let repository = Repository.current
        let paths = repository.paths.filter { $0.hasSuffix("/" + Article.vocabularyName) }

        #expect(paths.count >= 3)
        expectNone(
            paths.flatMap { Article.termFindings(path: $0, text: repository.text(of: $0) ?? "") })
    }

    @Test func `a term that is defined twice is found, in other letters and over two lines too`() {
        let text = """
            # Words

            **A page** of `a * b * c` and **a page**

            - *Page* (`Page`): a piece. *Long
              term*: a word of several. 2 * 3 * 4
            - *page*: another one.
            - *Pages*: many. *Long term*: again.
            """
        let findings = Article.termFindings(path: "Vocabulary.md", text: text)

        #expect(findings.map(\.line) == [7, 8])
    }
}

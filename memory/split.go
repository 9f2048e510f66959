package memory

// Span is a range of rows, [Start, Start+Len).
type Span struct{ Start, Len int64 }

// Split cuts n rows into k parts as numpy's array_split does: no row is dropped, the first n mod k parts are one row
// longer. Parts are never empty; with k > n there are n of them.
func Split(n, k int64) []Span {
	if k > n {
		k = n
	}
	spans := make([]Span, 0, k)
	for i, at := int64(0), int64(0); i < k; i++ {
		length := n / k
		if i < n%k {
			length++
		}
		spans = append(spans, Span{at, length})
		at += length
	}
	return spans
}

// Chunks cuts n rows into k equal parts of ⌊n/k⌋ rows, as skrl 2.0's sample_all does: the remainder is dropped.
func Chunks(n, k int64) []Span {
	size := n / k
	if size == 0 {
		return nil
	}
	spans := make([]Span, 0, k)
	for i := int64(0); i < k; i++ {
		spans = append(spans, Span{i * size, size})
	}
	return spans
}

package browser

import (
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

func TestAFingerMeetsWhatLiesInAShadow(t *testing.T) {
	url := site(t, map[string]string{"/": html(`<div id="host"></div><p id="told">nothing</p><script>
		const root = document.getElementById("host").attachShadow({mode: "open"})
		root.innerHTML = "<button disabled>Press</button>"
		const button = root.querySelector("button")
		const told = document.getElementById("told")
		button.addEventListener("touchstart", () => { told.textContent = "touched" })
		button.addEventListener("click", () => { told.textContent += ", pressed" })
		setTimeout(() => { button.disabled = false }, 0)</script>`)})
	p := New(t, Options{Width: 375, Height: 740, Phone: true})
	p.Open(url + "/")
	p.Tap("document.getElementById('host').shadowRoot.querySelector('button')")
	p.Wait("document.getElementById('told').textContent === 'touched, pressed'")
}

func TestAPictureIsOfTheWindow(t *testing.T) {
	url := site(t, map[string]string{"/": html("<p>Text</p>")})
	p := New(t, Options{Width: 400, Height: 300})
	p.Open(url + "/")
	path := filepath.Join(t.TempDir(), "page.png")
	p.Picture(path)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // only read
	if c, err := png.DecodeConfig(f); err != nil || c.Width != 400 || c.Height != 300 {
		t.Errorf("%d × %d, %v", c.Width, c.Height, err)
	}
}
